#include "topo/nccl_xml.h"

#include <tinyxml2.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "topo/assemble.h"
#include "topo/rates.h"
#include "topo/resolve.h"

namespace gradwire {
namespace {

using tinyxml2::XMLElement;

struct Nvlink {
  std::string from, to;  // PCI addresses
  int count = 0;
  bool to_switch = false;
};

struct XmlGpu {
  DeviceId device = kNoDevice;
  int dev = 0, sm = 0;
};

constexpr std::string_view kSwitchClass = "0x0680";  // PCI class of an NVSwitch bridge

std::string_view attribute(const XMLElement& element, const char* name) {
  const char* value = element.Attribute(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return result;
}

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& where, const XmlOptions& options)
      : where_(where), options_(options) {
    if (document_.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS)
      throw ConfigError(fmt::format("{} line {}: this is not whole XML: {}", where, document_.ErrorLineNum(),
                                    document_.ErrorName()));
  }

  Machine read() {
    const XMLElement* system = document_.FirstChildElement("system");
    if (system == nullptr)
      throw ConfigError(fmt::format("{}: there is no <system>: this is not NCCL's topology file", where_));
    for (auto* cpu = system->FirstChildElement("cpu"); cpu != nullptr; cpu = cpu->NextSiblingElement("cpu"))
      read_cpu(*cpu);
    if (cpus_.empty()) throw ConfigError(fmt::format("{}: there is no <cpu> in <system>", where_));
    if (gpus_.empty()) throw ConfigError(fmt::format("{}: there is no <gpu> in it", where_));
    join_sockets();
    const ResolvedNode node = resolved();
    join_nvlinks(node);
    Machine machine = assemble(node, topology_, options_.nodes);
    machine.notes = notes_;
    return machine;
  }

 private:
  [[noreturn]] void fail(const XMLElement& element, const std::string& what) const {
    throw ConfigError(fmt::format("{} line {}: {}", where_, element.GetLineNum(), what));
  }

  int integer(const XMLElement& element, const char* name, int low, int high, int absent) const {
    const std::string_view text = attribute(element, name);
    if (text.empty()) return absent;
    const auto value = find_integer<int>(text);
    if (!value || *value < low || *value > high)
      fail(element,
           fmt::format("{} is '{}': it must be a whole number from {} to {}", name, text, low, high));
    return *value;
  }

  DeviceId add(DeviceKind kind, std::string name, std::string model = {}) {
    return topology_.add_device(
        {.name = std::move(name), .kind = kind, .node = 0, .model = std::move(model)});
  }

  void read_cpu(const XMLElement& cpu) {
    const std::string_view vendor = attribute(cpu, "arch") == "arm64" ? "ARM" : attribute(cpu, "vendor");
    if (cpus_.empty())
      processor_ = attribute(cpu, "arch") == "ppc64"
                       ? find_processor("power9")
                       : processor_of(vendor, integer(cpu, "familyid", -1, 1 << 20, 6),
                                      integer(cpu, "modelid", -1, 1 << 20, 0x55));
    const int number = static_cast<int>(cpus_.size());
    cpus_.push_back(add(DeviceKind::cpu, fmt::format("CPU{}", number), processor_.id));
    const DeviceId memory = add(DeviceKind::memory, fmt::format("MEM{}", number));
    const DeviceId bridge = add(DeviceKind::host_bridge, fmt::format("PCI{}", number));
    topology_.add_cable(
        {.kind = LinkKind::memory, .from = cpus_.back(), .to = memory, .rate = processor_.memory});
    topology_.add_cable(
        {.kind = LinkKind::internal, .from = bridge, .to = cpus_.back(), .rate = internal_rate()});
    read_children(cpu, bridge, 0);
  }

  void read_children(const XMLElement& parent, DeviceId above, int depth) {
    if (depth > 16) fail(parent, "PCI devices are nested more than 16 deep");
    for (auto* pci = parent.FirstChildElement("pci"); pci != nullptr; pci = pci->NextSiblingElement("pci"))
      read_pci(*pci, above, depth);
    for (auto* nic = parent.FirstChildElement("nic"); nic != nullptr && depth == 0;
         nic = nic->NextSiblingElement("nic"))
      add_nic(*nic, above, 4, 16);  // a virtual card: its own link is not what limits it
  }

  // "16.0 GT/s PCIe", in older files "16 GT/s"; NCCL takes generation 3 where nothing is said.
  int generation(const XMLElement& pci) const {
    const std::string text(attribute(pci, "link_speed"));
    if (text.empty() || text == "Unknown speed" || text == "Unknown") return 3;
    const double speed = std::strtod(text.c_str(), nullptr);
    for (int gen = 1; gen <= 6; ++gen) {
      constexpr double kSpeeds[] = {2.5, 5, 8, 16, 32, 64};
      if (std::abs(speed - kSpeeds[gen - 1]) < 0.01) return gen;
    }
    fail(pci, fmt::format("link_speed is '{}': it must be 2.5, 5, 8, 16, 32 or 64 GT/s", text));
  }

  void read_pci(const XMLElement& pci, DeviceId above, int depth) {
    const int gen = generation(pci);
    const int lanes = integer(pci, "link_width", 0, 32, 16);
    const int width = lanes == 0 ? 16 : lanes;  // as NCCL does
    if (const XMLElement* gpu = pci.FirstChildElement("gpu")) return add_gpu(pci, *gpu, above, gen, width);
    if (const XMLElement* nic = pci.FirstChildElement("nic")) return add_nic(*nic, above, gen, width);
    if (pci.FirstChildElement("pci") == nullptr) return;  // a device that takes no part
    const DeviceId bridge = add(DeviceKind::pcie_switch, fmt::format("SW{}", switches_++));
    join_pcie(bridge, above, gen, width);
    read_children(pci, bridge, depth + 1);
  }

  void join_pcie(DeviceId from, DeviceId to, int gen, int width) {
    topology_.add_cable({.kind = LinkKind::pcie,
                         .from = from,
                         .to = to,
                         .generation = gen,
                         .width = width,
                         .rate = pcie_rate(gen, width)});
  }

  void add_gpu(const XMLElement& pci, const XMLElement& gpu, DeviceId above, int gen, int width) {
    const std::string address = lower(attribute(pci, "busid"));
    if (address.empty()) fail(pci, "a GPU without busid");
    if (by_address_.contains(address)) fail(pci, fmt::format("busid {} is there twice", address));
    const int dev = integer(gpu, "dev", 0, 1023, static_cast<int>(gpus_.size()));
    const DeviceId device = add(DeviceKind::gpu, fmt::format("GPU{}", dev));
    by_address_[address] = device;
    gpus_.push_back({device, dev, integer(gpu, "sm", 10, 999, 0)});
    join_pcie(device, above, gen, width);
    if (gpus_.size() == 1) pcie_gen_ = gen, pcie_width_ = width;
    for (auto* link = gpu.FirstChildElement("nvlink"); link != nullptr;
         link = link->NextSiblingElement("nvlink"))
      nvlinks_.push_back({.from = address,
                          .to = lower(attribute(*link, "target")),
                          .count = integer(*link, "count", 1, 72, 1),
                          .to_switch = attribute(*link, "tclass").starts_with(kSwitchClass)});
  }

  void add_nic(const XMLElement& nic, DeviceId above, int gen, int width) {
    for (auto* net = nic.FirstChildElement("net"); net != nullptr; net = net->NextSiblingElement("net")) {
      join_pcie(add(DeviceKind::nic, fmt::format("NIC{}", nics_++), std::string(attribute(*net, "name"))),
                above, gen, width);
      gbit_ = std::max(gbit_, integer(*net, "speed", 0, 10000000, 0) / 1000.0);
    }
  }

  void join_sockets() {
    const Rate rate = processor_.socket.bytes_per_s > 0 ? processor_.socket : internal_rate();
    for (std::size_t i = 0; i < cpus_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        topology_.add_cable({.kind = LinkKind::socket, .from = cpus_[j], .to = cpus_[i], .rate = rate});
  }

  std::string guess_gpu() const {
    const bool nvlink = !nvlinks_.empty();
    const bool switched =
        std::any_of(nvlinks_.begin(), nvlinks_.end(), [](const Nvlink& link) { return link.to_switch; });
    switch (gpus_.front().sm) {
      case 37:
        return "k80";
      case 60:
        return nvlink ? "p100" : "p100-pcie";
      case 61:
        return "gtx1080";
      case 70:
        return nvlink ? "v100-sxm" : "v100-pcie";
      case 75:
        return nvlink ? "rtx2080ti" : "t4";
      case 80:
        return switched ? "a100-sxm-80" : "a100-pcie-80";
      case 86:
        return nvlink ? "a6000" : "a10";
      case 89:
        return "l40s";
      case 90:
        return nvlink ? "h100-sxm" : "h100-pcie";
      case 100:
        return "b200";
      case 103:
        return "b300";
      case 120:
        return "rtx-pro-6000";
      default:
        return "";
    }
  }

  // In order of dev, which is rank order within a node.
  std::vector<int> ranks() const {
    std::vector<int> order(gpus_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return gpus_[static_cast<std::size_t>(a)].dev < gpus_[static_cast<std::size_t>(b)].dev;
    });
    return order;
  }

  ResolvedNode resolved() {
    NodeSpec spec;
    spec.name = where_;
    spec.gpu = options_.gpu.empty() ? guess_gpu() : find_gpu(options_.gpu).id;
    if (options_.gpu.empty())
      notes_.push_back(fmt::format("the file does not name the GPU: sm {} is taken as {}; say {}:GPU if not",
                                   gpus_.front().sm, spec.gpu.empty() ? "unknown" : spec.gpu, where_));
    spec.gpus = static_cast<int>(gpus_.size());
    spec.gpu_indices = ranks();
    spec.intra = nvlinks_.empty() ? Intra::pcie : Intra::nvlink_mesh;
    spec.pcie = PcieLayout{};
    spec.pcie_gen = pcie_gen_;
    spec.pcie_width = pcie_width_;
    spec.cpu_model = processor_.id;
    if (nics_ > 0) {
      spec.network = NetworkSpec{};
      spec.network->nics_per_node = nics_;
      if (gbit_ > 0) spec.network->gbit_per_nic = gbit_;
    }
    return resolve(spec, options_.network);
  }

  void join_nvlinks(const ResolvedNode& node) {
    DeviceId nvswitch = kNoDevice;
    std::map<std::pair<DeviceId, DeviceId>, int> joined;
    for (const Nvlink& link : nvlinks_) {
      const DeviceId from = by_address_.at(link.from);
      if (link.to_switch && nvswitch == kNoDevice) nvswitch = add(DeviceKind::nvswitch, "NVS");
      const auto peer = by_address_.find(link.to);
      if (!link.to_switch && peer == by_address_.end()) {
        notes_.push_back(fmt::format("NVLinks of {} lead to {}, which is not in the file",
                                     topology_.device(from).name, link.to));
        continue;
      }
      const DeviceId to = link.to_switch ? nvswitch : peer->second;
      if (from == to) continue;
      int& count = joined[std::minmax(from, to)];
      count = link.to_switch ? count + link.count
                             : std::max(count, link.count);  // direct links are listed at both ends
    }
    for (const auto& [ends, count] : joined)
      topology_.add_cable({.kind = LinkKind::nvlink,
                           .from = ends.first,
                           .to = ends.second,
                           .generation = *node.spec.nvlink_gen,
                           .width = count,
                           .rate = nvlink_rate(node.gpu, *node.spec.nvlink_gen, count)});
  }

  std::string where_;
  XmlOptions options_;
  tinyxml2::XMLDocument document_;
  Topology topology_;
  Processor processor_;
  std::vector<DeviceId> cpus_;
  std::vector<XmlGpu> gpus_;
  std::vector<Nvlink> nvlinks_;
  std::map<std::string, DeviceId> by_address_;
  std::vector<std::string> notes_;
  int switches_ = 0, nics_ = 0, pcie_gen_ = 3, pcie_width_ = 16;
  double gbit_ = 0;
};

}  // namespace

Machine machine_from_xml(std::string_view text, const std::string& where, const XmlOptions& options) {
  return XmlReader(text, where, options).read();
}

}  // namespace gradwire

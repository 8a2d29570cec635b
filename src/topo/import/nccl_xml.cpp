#include "topo/import/nccl_xml.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "topo/build/node.h"
#include "topo/build/resolve.h"
#include "topo/import/xml_system.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

// GPUs that share a compute capability: the one people have most, datacentre cards before GeForce.
std::string guess_gpu(int sm, bool nvlink, bool switched) {
  switch (sm) {
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

Processor processor_in(const XmlCpu& cpu) {
  if (cpu.arch == "ppc64") return find_processor("power9");
  return processor_of(cpu.arch == "arm64" ? "ARM" : cpu.vendor, cpu.family, cpu.model);
}

class XmlBuilder {
 public:
  XmlBuilder(const XmlSystem& system, const std::string& where, const XmlOptions& options)
      : where_(where), options_(options), processor_(processor_in(system.cpus.front())) {
    for (const XmlCpu& cpu : system.cpus) add_cpu(cpu);
    if (gpus_.empty()) throw ConfigError(fmt::format("{}: there is no <gpu> in it", where_));
    join_sockets();
  }

  Machine build() {
    const ResolvedNode node = resolved();
    join_nvlinks(node);
    Machine machine = assemble(node, topology_, options_.nodes);
    machine.notes.insert(machine.notes.begin(), notes_.begin(), notes_.end());
    return machine;
  }

 private:
  struct PlacedGpu {
    DeviceId device = kNoDevice;
    XmlPci pci;
  };

  DeviceId add(DeviceKind kind, std::string name, std::string model = {}) {
    return topology_.add_device(
        {.name = std::move(name), .kind = kind, .node = 0, .model = std::move(model)});
  }

  void join_pcie(DeviceId from, DeviceId to, const XmlPci& pci) {
    topology_.add_cable({.kind = LinkKind::pcie,
                         .from = from,
                         .to = to,
                         .generation = pci.generation,
                         .width = pci.width,
                         .rate = pcie_rate(pci.generation, pci.width)});
  }

  void add_cpu(const XmlCpu& cpu) {
    const auto number = cpus_.size();
    cpus_.push_back(add(DeviceKind::cpu, fmt::format("CPU{}", number), processor_.id));
    const DeviceId memory = add(DeviceKind::memory, fmt::format("MEM{}", number));
    const DeviceId bridge = add(DeviceKind::host_bridge, fmt::format("PCI{}", number));
    topology_.add_cable(
        {.kind = LinkKind::memory, .from = cpus_.back(), .to = memory, .rate = processor_.memory});
    topology_.add_cable(
        {.kind = LinkKind::internal, .from = bridge, .to = cpus_.back(), .rate = internal_rate()});
    for (const XmlPci& pci : cpu.below) add_pci(pci, bridge);
  }

  void add_pci(const XmlPci& pci, DeviceId above) {
    if (pci.gpu) return add_gpu(pci, above);
    if (!pci.nets.empty()) return add_nics(pci, above);
    if (pci.below.empty()) return;  // a device that takes no part
    const DeviceId bridge = add(DeviceKind::pcie_switch, fmt::format("SW{}", switches_++));
    join_pcie(bridge, above, pci);
    for (const XmlPci& below : pci.below) add_pci(below, bridge);
  }

  void add_gpu(const XmlPci& pci, DeviceId above) {
    const DeviceId device = add(DeviceKind::gpu, fmt::format("GPU{}", pci.gpu->dev));
    if (!by_address_.emplace(pci.address, device).second)
      throw ConfigError(fmt::format("{}: busid {} is there twice", where_, pci.address));
    gpus_.push_back({device, pci});
    join_pcie(device, above, pci);
  }

  void add_nics(const XmlPci& pci, DeviceId above) {
    for (const XmlNet& net : pci.nets) {
      join_pcie(add(DeviceKind::nic, fmt::format("NIC{}", nics_++), net.name), above, pci);
      gbit_ = std::max(gbit_, net.gbit);
    }
  }

  void join_sockets() {
    const Rate rate = processor_.socket.bytes_per_s > 0 ? processor_.socket : internal_rate();
    for (std::size_t i = 0; i < cpus_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        topology_.add_cable({.kind = LinkKind::socket, .from = cpus_[j], .to = cpus_[i], .rate = rate});
  }

  template <typename Test>
  bool any_nvlink(Test test) const {
    return std::any_of(gpus_.begin(), gpus_.end(), [&](const PlacedGpu& gpu) {
      return std::any_of(gpu.pci.gpu->nvlinks.begin(), gpu.pci.gpu->nvlinks.end(), test);
    });
  }

  std::string gpu_id() {
    if (!options_.gpu.empty()) return find_gpu(options_.gpu).id;
    const int sm = gpus_.front().pci.gpu->sm;
    std::string guess = guess_gpu(sm, any_nvlink([](const XmlNvlink&) { return true; }),
                                  any_nvlink([](const XmlNvlink& link) { return link.to_switch; }));
    notes_.push_back(fmt::format("the file does not name the GPU: sm {} is taken as {}; say {}:GPU if not",
                                 sm, guess.empty() ? "unknown" : guess, where_));
    return guess;
  }

  // In order of dev, which is rank order within a node.
  std::vector<int> ranks() const {
    std::vector<int> order(gpus_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const auto dev = [&](int gpu) { return gpus_[static_cast<std::size_t>(gpu)].pci.gpu->dev; };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return dev(a) < dev(b); });
    return order;
  }

  ResolvedNode resolved() {
    NodeSpec spec;
    spec.name = where_;
    spec.gpu = gpu_id();
    spec.gpu_guessed = options_.gpu.empty() && !spec.gpu.empty();
    spec.gpus = static_cast<int>(gpus_.size());
    spec.gpu_indices = ranks();
    spec.intra = any_nvlink([](const XmlNvlink&) { return true; }) ? Intra::nvlink_mesh : Intra::pcie;
    spec.pcie = PcieLayout{};
    spec.pcie_gen = gpus_.front().pci.generation;
    spec.pcie_width = gpus_.front().pci.width;
    spec.cpu_model = processor_.id;
    if (nics_ > 0) {
      spec.network = NetworkSpec{};
      spec.network->nics_per_node = nics_;
      if (gbit_ > 0) spec.network->gbit_per_nic = gbit_;
    }
    return resolve(spec, options_.network);
  }

  // Direct links are listed at both ends; those to the switches of a board are added up.
  std::map<std::pair<DeviceId, DeviceId>, int> nvlink_counts() {
    DeviceId nvswitch = kNoDevice;
    std::map<std::pair<DeviceId, DeviceId>, int> counts;
    for (const auto& [device, pci] : gpus_)
      for (const XmlNvlink& link : pci.gpu->nvlinks) {
        if (link.to_switch && nvswitch == kNoDevice) nvswitch = add(DeviceKind::nvswitch, "NVS0");
        const auto peer = by_address_.find(link.target);
        if (!link.to_switch && peer == by_address_.end())
          notes_.push_back(fmt::format("NVLinks of {} lead to {}, which is not in the file",
                                       topology_.device(device).name, link.target));
        const DeviceId to = link.to_switch ? nvswitch : peer == by_address_.end() ? device : peer->second;
        if (to == device) continue;
        int& count = counts[{std::min(device, to), std::max(device, to)}];
        count = link.to_switch ? count + link.count : std::max(count, link.count);
      }
    return counts;
  }

  void join_nvlinks(const ResolvedNode& node) {
    for (const auto& [ends, count] : nvlink_counts())
      topology_.add_cable({.kind = LinkKind::nvlink,
                           .from = ends.first,
                           .to = ends.second,
                           .generation = *node.spec.nvlink_gen,
                           .width = count,
                           .rate = nvlink_rate(node.gpu, *node.spec.nvlink_gen, count)});
  }

  std::string where_;
  XmlOptions options_;
  Processor processor_;
  Topology topology_;
  std::vector<DeviceId> cpus_;
  std::vector<PlacedGpu> gpus_;
  std::map<std::string, DeviceId> by_address_;
  std::vector<std::string> notes_;
  int switches_ = 0, nics_ = 0;
  double gbit_ = 0;
};

}  // namespace

Machine machine_from_xml(std::string_view text, const std::string& where, const XmlOptions& options) {
  return XmlBuilder(parse_xml_system(text, where), where, options).build();
}

}  // namespace gradwire

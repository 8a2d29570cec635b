#include "topo/import/xml_system.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::string_view kSwitchClass = "0x0680";  // PCI class of an NVSwitch
constexpr int kDeepest = 16;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

template <typename Visit>
void for_each(const XmlElement& parent, std::string_view name, Visit visit) {
  for (const XmlElement& child : parent.children)
    if (child.name == name) visit(child);
}

class SystemReader {
 public:
  explicit SystemReader(const std::string& where) : where_(where) {}

  XmlSystem read(std::string_view text) const {
    const XmlElement root = parse_xml(text, where_);
    if (root.name != "system")
      throw ConfigError(fmt::format("{}: there is no <system>: this is not NCCL's topology file", where_));
    XmlSystem system;
    for_each(root, "cpu", [&](const XmlElement& cpu) { system.cpus.push_back(read_cpu(cpu)); });
    if (system.cpus.empty()) throw ConfigError(fmt::format("{}: there is no <cpu> in <system>", where_));
    return system;
  }

 private:
  [[noreturn]] void fail(const XmlElement& element, const std::string& what) const {
    throw ConfigError(fmt::format("{} line {}: {}", where_, element.line, what));
  }

  struct Bounds {
    int low, high, absent;
  };
  int integer(const XmlElement& element, const char* name, Bounds bounds) const {
    const std::string text = element.attribute(name);
    if (text.empty()) return bounds.absent;
    const auto value = find_integer<int>(text);
    if (!value || *value < bounds.low || *value > bounds.high)
      fail(element, fmt::format("{} is '{}': it must be a whole number from {} to {}", name, text, bounds.low,
                                bounds.high));
    return *value;
  }

  XmlCpu read_cpu(const XmlElement& element) const {
    XmlCpu cpu;
    cpu.arch = element.attribute("arch");
    cpu.vendor = element.attribute("vendor");
    cpu.family = integer(element, "familyid", {-1, 1 << 20, 6});
    cpu.model = integer(element, "modelid", {-1, 1 << 20, 0x55});
    for_each(element, "pci", [&](const XmlElement& pci) { cpu.below.push_back(read_pci(pci, 0)); });
    for_each(element, "nic", [&](const XmlElement& nic) {
      cpu.below.emplace_back();
      read_nets(nic, cpu.below.back());
    });
    return cpu;
  }

  XmlPci read_pci(const XmlElement& element, int depth) const {
    if (depth > kDeepest) fail(element, fmt::format("PCI devices are nested more than {} deep", kDeepest));
    XmlPci pci;
    pci.address = lower(element.attribute("busid"));
    pci.generation = generation(element);
    const int lanes = integer(element, "link_width", {0, 32, 16});
    pci.width = lanes == 0 ? 16 : lanes;  // as NCCL does
    if (const XmlElement* gpu = element.find_child("gpu")) pci.gpu = read_gpu(*gpu);
    if (pci.gpu && pci.address.empty()) fail(element, "a GPU without busid");
    for_each(element, "nic", [&](const XmlElement& nic) { read_nets(nic, pci); });
    for_each(element, "pci",
             [&](const XmlElement& below) { pci.below.push_back(read_pci(below, depth + 1)); });
    return pci;
  }

  // "16.0 GT/s PCIe", in older files "16 GT/s"; NCCL takes generation 3 where nothing is said.
  int generation(const XmlElement& pci) const {
    const std::string text = pci.attribute("link_speed");
    if (text.empty() || text.starts_with("Unknown")) return 3;
    constexpr double kSpeeds[] = {2.5, 5, 8, 16, 32, 64};
    for (int gen = 1; gen <= 6; ++gen)
      if (std::abs(std::strtod(text.c_str(), nullptr) - kSpeeds[gen - 1]) < 0.01) return gen;
    fail(pci, fmt::format("link_speed is '{}': it must be 2.5, 5, 8, 16, 32 or 64 GT/s", text));
  }

  XmlGpu read_gpu(const XmlElement& element) const {
    XmlGpu gpu;
    gpu.dev = integer(element, "dev", {0, 1023, 0});
    gpu.sm = integer(element, "sm", {10, 999, 0});
    for_each(element, "nvlink", [&](const XmlElement& link) {
      gpu.nvlinks.push_back({.target = lower(link.attribute("target")),
                             .count = integer(link, "count", {1, 72, 1}),
                             .to_switch = link.attribute("tclass").starts_with(kSwitchClass)});
    });
    return gpu;
  }

  void read_nets(const XmlElement& nic, XmlPci& pci) const {
    for_each(nic, "net", [&](const XmlElement& net) {
      pci.nets.push_back({net.attribute("name"), integer(net, "speed", {0, 10000000, 0}) / 1000.0});
    });
  }

  const std::string& where_;
};

}  // namespace

XmlSystem parse_xml_system(std::string_view text, const std::string& where) {
  return SystemReader(where).read(text);
}

}  // namespace gradwire

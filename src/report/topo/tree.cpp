#include "report/topo/topo.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/terminal.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostProcessors = 4;  // more of the same are only counted

std::string gb(double bytes_per_s) { return fmt::format("{:.3g} GB/s", bytes_per_s / 1e9); }

bool is_below(DeviceKind kind) {
  return kind == DeviceKind::host_bridge || kind == DeviceKind::pcie_switch || kind == DeviceKind::gpu ||
         kind == DeviceKind::nic;
}

class Tree {
 public:
  explicit Tree(const Topology& topology) : topology_(topology) {}

  std::string draw() {
    const std::vector<DeviceId> cpus = topology_.find_devices(DeviceKind::cpu, 0);
    const std::size_t shown = cpus.size() > kMostProcessors ? 2 : cpus.size();
    for (std::size_t i = 0; i < shown; ++i) {
      line("", processor(cpus[i]));
      children(cpus[i], "");
    }
    if (shown < cpus.size()) line("", fmt::format("and {} more processors like these", cpus.size() - shown));
    return text_;
  }

 private:
  void line(const std::string& prefix, const std::string& content, const std::string& rest = "") {
    text_ += wrap("  " + prefix + content, kTerminalWidth, "  " + rest) + "\n";
  }

  std::string processor(DeviceId cpu) const {
    const Device& device = topology_.device(cpu);
    std::string text = device.name;
    for (const Processor& known : all_processors())
      if (known.id == device.model) text += "  " + known.title;
    for (const LinkId id : topology_.links_from(cpu)) {
      const Link& link = topology_.link(id);
      if (link.kind == LinkKind::memory)
        text += fmt::format(", memory {} each way", gb(link.rate.bytes_per_s));
    }
    return text;
  }

  std::vector<LinkId> below(DeviceId device) const {
    std::vector<LinkId> found;
    for (const LinkId id : topology_.links_from(device)) {
      const Link& link = topology_.link(id);
      const bool tree =
          link.kind == LinkKind::pcie || link.kind == LinkKind::internal || link.kind == LinkKind::c2c;
      if (tree && link.to > device && is_below(topology_.device(link.to).kind)) found.push_back(id);
    }
    std::sort(found.begin(), found.end(),
              [&](LinkId a, LinkId b) { return topology_.link(a).to < topology_.link(b).to; });
    return found;
  }

  static std::string named(const Device& device) {
    const bool model = device.kind == DeviceKind::nic && !device.model.empty() && device.model != device.name;
    return model ? fmt::format("{} ({})", device.name, device.model) : device.name;
  }

  static std::string rate_of(const Link& link) {
    if (link.kind == LinkKind::internal) return {};
    const std::string what =
        link.kind == LinkKind::c2c ? "NVLink-C2C" : fmt::format("PCIe {} x{}", link.generation, link.width);
    return fmt::format("  {}, {}", what, gb(link.rate.bytes_per_s));
  }

  std::size_t endpoints(DeviceId device) const {
    const DeviceKind kind = topology_.device(device).kind;
    if (kind == DeviceKind::gpu || kind == DeviceKind::nic) return 1;
    std::size_t sum = 0;
    for (const LinkId id : below(device)) sum += endpoints(topology_.link(id).to);
    return sum;
  }

  bool is_endpoint(const Link& link) const {
    const DeviceKind kind = topology_.device(link.to).kind;
    return kind == DeviceKind::gpu || kind == DeviceKind::nic;
  }

  bool alike(const Link& a, const Link& b) const {
    return is_endpoint(a) && is_endpoint(b) && topology_.device(a.to).kind == topology_.device(b.to).kind &&
           a.kind == b.kind && a.rate == b.rate && a.width == b.width && a.generation == b.generation;
  }

  // Siblings of one kind on equal links are one line: "GPU0 GPU1  PCIe 4 x16, 25 GB/s each".
  std::string described(const std::vector<Link>& links) const {
    std::vector<std::string> names;
    for (const Link& link : links) names.push_back(named(topology_.device(link.to)));
    std::string text = join(names, " ") + rate_of(links[0]) + (links.size() > 1 ? " each" : "");
    const auto sharing = endpoints(links[0].to);
    if (topology_.device(links[0].to).kind == DeviceKind::pcie_switch && sharing > 1)
      text += fmt::format(", shared by {}", sharing);
    return text;
  }

  // A host bridge with one thing below it is no line of its own: "PCI0 · SW0  PCIe 4 x16".
  void children(DeviceId parent, const std::string& prefix) {
    const std::vector<LinkId> links = below(parent);
    for (std::size_t i = 0; i < links.size(); ++i) {
      std::vector<Link> group = {topology_.link(links[i])};
      std::string text;
      while (topology_.device(group[0].to).kind == DeviceKind::host_bridge &&
             below(group[0].to).size() == 1) {
        text += topology_.device(group[0].to).name + " · ";
        group[0] = topology_.link(below(group[0].to)[0]);
      }
      while (text.empty() && i + 1 < links.size() && alike(group[0], topology_.link(links[i + 1])))
        group.push_back(topology_.link(links[++i]));
      const bool last = i + 1 == links.size();
      const auto below_it = prefix + (last ? "   " : "│  ");
      line(prefix + (last ? "└─ " : "├─ "), text + described(group), below_it);
      if (!is_endpoint(group[0])) children(group[0].to, below_it);
    }
  }

  const Topology& topology_;
  std::string text_;
};

// "GPU0-GPU7" for names that follow each other, else a list.
std::string together(const std::vector<std::string>& names) {
  if (names.size() > 2) return names.front() + " to " + names.back();
  return join(names, ", ");
}

std::string draw_switches(const Topology& topology) {
  std::string text;
  for (const DeviceId nvswitch : topology.find_devices(DeviceKind::nvswitch, 0)) {
    std::map<int, std::pair<std::vector<std::string>, double>> by_width;
    for (const LinkId id : topology.links_from(nvswitch)) {
      const Link& link = topology.link(id);
      auto& [names, rate] = by_width[link.width];
      names.push_back(topology.device(link.to).name);
      rate = link.rate.bytes_per_s;
    }
    for (const auto& [width, entry] : by_width)
      text += fmt::format("  NVSwitch  {}: {} NVLinks each, {} from any to any\n", together(entry.first),
                          width, gb(entry.second));
  }
  return text;
}

std::string draw_bonds(const Topology& topology) {
  const auto number = [&](DeviceId gpu) { return topology.device(gpu).name.substr(3); };  // of "GPU3"
  std::map<int, std::pair<std::vector<std::string>, double>> by_width;
  for (const Link& link : topology.links()) {
    const bool direct = link.kind == LinkKind::nvlink && topology.device(link.from).kind == DeviceKind::gpu &&
                        topology.device(link.to).kind == DeviceKind::gpu && link.from < link.to;
    if (!direct || topology.device(link.from).node != 0) continue;
    auto& [names, rate] = by_width[link.width];
    names.push_back(fmt::format("{}={}", number(link.from), number(link.to)));
    rate = link.rate.bytes_per_s;
  }
  std::string text;
  for (const auto& [width, entry] : by_width)
    text += wrapped(fmt::format("  NVLink x{}  {}, GPUs {}", width, gb(entry.second), join(entry.first, " ")),
                    13);
  return text;
}

std::string draw_sockets(const Topology& topology) {
  for (const LinkId id : topology.links_from(topology.find_devices(DeviceKind::cpu, 0).at(0))) {
    const Link& link = topology.link(id);
    if (link.kind == LinkKind::socket)
      return fmt::format("  sockets   {} each way\n", gb(link.rate.bytes_per_s));
  }
  return {};
}

}  // namespace

std::string draw_tree(const Machine& machine) {
  return Tree(machine.topology).draw() + draw_sockets(machine.topology);
}

std::string draw_nvlinks(const Machine& machine) {
  return draw_switches(machine.topology) + draw_bonds(machine.topology);
}

}  // namespace gradwire

#include "report/page/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "predict/nccl/all_reduce.h"
#include "predict/nccl/hops.h"
#include "report/narrowest.h"

namespace gradwire {
namespace {

std::string drawn_kind(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::host_bridge:
      return "root";
    case DeviceKind::pcie_switch:
      return "pcie-switch";
    case DeviceKind::net_switch:
      return "network";
    case DeviceKind::gpu:
    case DeviceKind::cpu:
    case DeviceKind::memory:
    case DeviceKind::nvswitch:
    case DeviceKind::nic:
      break;
  }
  return std::string(to_string(kind));
}

// A cable by the names of its ends in their node: equal in every node.
using CableName = std::tuple<std::string, std::string, LinkKind>;

class Picture {
 public:
  Picture(const Machine& machine, DrawnTopology& drawn) : topology_(machine.topology), drawn_(drawn) {}

  void load(const std::vector<LinkLoad>& loads) {
    for (const LinkLoad& one : loads) loads_[name_of_cable(topology_.link(one.cable))] = one;
  }

  void draw() {
    for (DeviceId id = 0; id < static_cast<DeviceId>(topology_.devices().size()); ++id)
      if (is_drawn(id)) add_node(id);
    for (LinkId id = 0; id < static_cast<LinkId>(topology_.links().size()); ++id) {
      const Link& link = topology_.link(id);
      if (is_drawn(link.from) && is_drawn(link.to) && cable_of(topology_, id) == id) add_cable(link, id);
    }
  }

 private:
  bool is_drawn(DeviceId id) const { return topology_.device(id).node < kMostHostsDrawn; }
  static std::string id_of(DeviceId id) { return fmt::format("d{}", id); }

  CableName name_of_cable(const Link& link) const {
    const std::string &from = topology_.device(link.from).name, &to = topology_.device(link.to).name;
    return {std::min(from, to), std::max(from, to), link.kind};
  }

  // What it hangs below in the tree of PCIe, or in its processor.
  std::string parent_of(DeviceId id) const {
    const DeviceKind kind = topology_.device(id).kind;
    if (kind == DeviceKind::cpu || kind == DeviceKind::net_switch || kind == DeviceKind::nvswitch) return "";
    for (const LinkId out : topology_.links_from(id)) {
      const Link& link = topology_.link(out);
      const bool tree = link.kind == LinkKind::pcie || link.kind == LinkKind::internal ||
                        link.kind == LinkKind::c2c || link.kind == LinkKind::memory;
      const DeviceKind above = topology_.device(link.to).kind;
      const bool holds = above == DeviceKind::cpu || above == DeviceKind::host_bridge ||
                         (above == DeviceKind::pcie_switch && link.to < id);
      if (tree && holds) return id_of(link.to);
    }
    return "";
  }

  void add_node(DeviceId id) {
    const Device& device = topology_.device(id);
    drawn_.nodes.push_back({id_of(id), drawn_kind(device.kind), device.name, device.node, parent_of(id)});
  }

  void add_cable(const Link& link, LinkId id) {
    DrawnTopology::Link cable{
        id_of(link.from),
        id_of(link.to),
        std::string(to_string(link.kind)),
        link.rate.bytes_per_s / 1e9,
        -1,
        false,
        fmt::format("{}, {:.3g} GB/s each way", link_name(topology_, id), link.rate.bytes_per_s / 1e9)};
    if (const auto found = loads_.find(name_of_cable(link)); found != loads_.end()) {
      cable.load = found->second.share;
      cable.narrowest = found->second.narrowest;
      cable.text += fmt::format("; {:.0f} % used by an all-reduce{}", 100 * cable.load,
                                cable.narrowest ? ", which it holds up" : "");
    }
    drawn_.links.push_back(std::move(cable));
  }

  const Topology& topology_;
  DrawnTopology& drawn_;
  std::map<CableName, LinkLoad> loads_;
};

}  // namespace

DrawnTopology drawn_topology(const Machine& machine, Loads loads, const NcclSettings& settings) {
  DrawnTopology drawn;
  drawn.name = machine.name;
  Picture picture(machine, drawn);
  if (loads == Loads::of_nccl && machine.gpus.size() > 1) {
    const NcclModel model(machine, default_calibration(), settings);
    picture.load(link_loads(machine, model));
    drawn.narrowest = to_words(model.narrowest());
  }
  picture.draw();
  return drawn;
}

}  // namespace gradwire

#include "predict/compare/compare.h"

#include <algorithm>
#include <span>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr int kMostInABox = 8;  // GPUs that one node of PCIe cards holds

class Rearrangements {
 public:
  explicit Rearrangements(const Machine& machine) : machine_(machine) {}

  void add(Change change, int count, const NodeSpec& node, int nodes) {
    try {
      all_.push_back(
          {change, count, build_machine(node, nodes, nodes > 1 ? machine_.network : std::nullopt)});
    } catch (const ConfigError&) {  // such a machine can't be
    }
  }

  void fewer_nodes() {
    if (machine_.nodes == 1) return;
    auto node = machine_.node;
    add(Change::one_node, machine_.gpus_per_node() * (machine_.nodes - 1), node, 1);
    const int all = node.gpus * machine_.nodes;
    const bool cards = !node.matrix && !machine_.gpu.nvswitch && node.intra != Intra::nvlink_mesh;
    if (!cards || all > kMostInABox) return;
    if (node.intra != Intra::nvlink_pairs) node.intra = Intra::pcie;
    node.gpus = all;
    node.gpu_indices.clear();
    node.nvlinks.clear();
    node.pcie = std::nullopt;
    add(Change::all_in_one_node, all, node, 1);
  }

  void other_slots() {
    if (machine_.node.matrix || machine_.node.gpus < 2 || machine_.node.gpus > 4) return;
    const int gpus = machine_.node.gpus;
    PcieLayout one_switch, own_ports;
    one_switch.gpus_per_switch = one_switch.gpus_per_bridge = gpus;
    own_ports.gpus_per_bridge = gpus;
    for (auto* layout : {&one_switch, &own_ports}) layout->gpus_per_socket = gpus;
    if (!machine_.node.intra || *machine_.node.intra != Intra::pcie) return;
    place(Change::one_switch, one_switch);
    place(Change::one_socket, own_ports);
  }

  void bridge() {
    const Gpu& gpu = machine_.gpu;
    auto node = machine_.node;
    if (gpu.nvlink_links == 0 || gpu.nvswitch || gpu.nvlink_mesh)
      return;  // no cards, or without the connector
    if (node.matrix)
      node.nvlinks = missing_bridges();
    else if (node.intra != Intra::pcie)
      return;
    const int bridges = node.matrix ? static_cast<int>(node.nvlinks.size()) : node.gpus / 2;
    if (bridges == 0) return;
    if (node.intra == Intra::pcie) node.intra = Intra::nvlink_pairs;
    add(Change::bridges, bridges, node, machine_.nodes);
  }

  std::vector<Rearrangement> take() { return std::move(all_); }

 private:
  // Between GPUs of a node that have no NVLink: each with the nearest that is left.
  std::vector<NvlinkBond> missing_bridges() const {
    const std::span gpus(machine_.gpus.data(), static_cast<std::size_t>(machine_.gpus_per_node()));
    const auto is_bridged = [&](DeviceId gpu) {
      return std::ranges::any_of(gpus, [&](DeviceId other) {
        return other != gpu && nvlinks_between(machine_.topology, gpu, other) > 0;
      });
    };
    std::vector<std::size_t> alone;  // ranks
    for (std::size_t i = 0; i < gpus.size(); ++i)
      if (!is_bridged(gpus[i])) alone.push_back(i);
    std::vector<NvlinkBond> bridges;
    while (alone.size() > 1) {
      const auto first = alone.front();
      const auto is_nearer = [&](std::size_t one, std::size_t other) {
        const auto class_of = [&](std::size_t gpu) {
          return find_path(machine_, gpus[first], gpus[gpu]).path_class;
        };
        return class_of(one) < class_of(other);
      };
      const auto nearest = std::min_element(alone.begin() + 1, alone.end(), is_nearer);
      bridges.push_back(
          {machine_.node.gpu_indices[first], machine_.node.gpu_indices[*nearest], machine_.gpu.nvlink_links});
      alone.erase(nearest);
      alone.erase(alone.begin());
    }
    return bridges;
  }

  void place(Change change, const PcieLayout& layout) {
    auto node = machine_.node;
    if (node.pcie) {
      if (node.pcie->gpus_per_switch == layout.gpus_per_switch &&
          node.pcie->gpus_per_socket == layout.gpus_per_socket)
        return;
      const auto kept = *node.pcie;
      node.pcie = layout;
      node.pcie->slot_widths = kept.slot_widths;
      node.pcie->slot_gens = kept.slot_gens;
    } else {
      node.pcie = layout;
    }
    add(change, 0, node, machine_.nodes);
  }

  const Machine& machine_;
  std::vector<Rearrangement> all_;
};

}  // namespace

std::vector<Rearrangement> rearrangements_of(const Machine& machine) {
  Rearrangements all(machine);
  all.fewer_nodes();
  all.other_slots();
  all.bridge();
  return all.take();
}

}  // namespace gradwire

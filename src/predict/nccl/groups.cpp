#include "predict/nccl/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "predict/nccl/version.h"

namespace gradwire {
namespace {

using Part = std::vector<int>;  // of a group: the GPUs of one node, counted from its first

// What the groups have of one node.
struct NodeParts {
  std::vector<Part> parts;
  std::vector<bool> leaves;  // by part: its group is on other nodes too
  auto operator<=>(const NodeParts&) const = default;
};

struct Placed {
  std::map<int, NodeParts> by_node;
  std::vector<std::map<int, std::size_t>> part_of;  // by group: node and index of its part there
};

void check_ranks(const Machine& machine, const RankGroups& groups) {
  std::vector<bool> seen(machine.gpus.size());
  for (const auto& group : groups) {
    if (group.empty()) throw ConfigError("a group of ranks is empty");
    for (const int rank : group) {
      if (rank < 0 || rank >= static_cast<int>(seen.size()))
        throw ConfigError(fmt::format("{} has no rank {}: it has {}", machine.name, rank, seen.size()));
      if (seen[static_cast<std::size_t>(rank)])
        throw ConfigError(fmt::format("rank {} is in the groups twice", rank));
      seen[static_cast<std::size_t>(rank)] = true;
    }
  }
}

Placed place_groups(const Machine& machine, const RankGroups& groups) {
  Placed placed;
  const int a_node = static_cast<int>(machine.gpus.size()) / machine.nodes;
  for (const auto& group : groups) {
    std::map<int, Part> by_node;
    for (const int rank : group) by_node[rank / a_node].push_back(rank % a_node);
    auto& parts = placed.part_of.emplace_back();
    for (auto& [node, part] : by_node) {
      NodeParts& there = placed.by_node[node];
      parts[node] = there.parts.size();
      there.parts.push_back(std::move(part));
      there.leaves.push_back(by_node.size() > 1);
    }
  }
  return placed;
}

class NodeGroups {
 public:
  NodeGroups(const Machine& machine, const NodeParts& parts, const NcclSettings& settings)
      : machine_(machine), settings_(settings) {
    for (const Part& part : parts.parts) {
      auto& gpus = gpus_.emplace_back();
      for (const int gpu : part) gpus.push_back(machine.gpus[static_cast<std::size_t>(gpu)]);
      rings_.push_back(lay_rings(machine, gpus, settings));
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (parts.leaves[i])
        for (const DeviceId card : cards_of(machine, gpus_[i])) ++groups_at_[card];
  }

  // Of the group with this part here, which has so many ranks on so many nodes.
  GroupFabric fabric(std::size_t part, int ranks, int nodes) const {
    GroupFabric group;
    NcclFabric& fabric = group.fabric;
    fabric.ranks = ranks, fabric.nodes = nodes;
    fabric.ranks_per_node = static_cast<int>(gpus_[part].size());
    fabric.sm = machine_.gpu.sm;
    fabric.settings = settings_on(machine_, settings_);
    fabric.slot_gbps = slot_gbps(machine_);
    fabric.rings = rings_[part];
    fabric.nvls = reduces_in_switch(fabric);
    for (std::size_t i = 0; i < rings_.size(); ++i)
      if (i != part) {
        add_others(rings_[i], fabric.rings);
        group.others.push_back(gpus_[i]);
      }
    if (nodes > 1) share_network(part, fabric);
    group.gpus = gpus_[part];
    return group;
  }

 private:
  void share_network(std::size_t part, NcclFabric& fabric) const {
    add_network(machine_, gpus_[part].front(), fabric);
    const std::vector<DeviceId> cards = cards_of(machine_, gpus_[part]);
    if (cards.empty() || fabric.ranks_per_node == machine_.gpus_per_node()) return;  // then all are its own
    fabric.network_nominal_gbps *= static_cast<double>(cards.size()) / fabric.cards;
    fabric.cards = static_cast<int>(cards.size());
    int groups = 1;
    for (const DeviceId card : cards) groups = std::max(groups, groups_at_.at(card));
    fabric.card_share = 1.0 / groups;
  }

  const Machine& machine_;
  const NcclSettings& settings_;
  std::vector<std::vector<DeviceId>> gpus_;
  std::vector<NodeRings> rings_;
  std::map<DeviceId, int> groups_at_;
};

}  // namespace

RankGroups strided_groups(int ranks, int size, int stride) {
  if (size < 1 || stride < 1 || ranks % (size * stride) != 0)
    throw ConfigError(fmt::format("{} ranks can't be groups of {}, {} apart", ranks, size, stride));
  RankGroups groups;
  for (int block = 0; block < ranks; block += size * stride)
    for (int first = 0; first < stride; ++first) {
      auto& group = groups.emplace_back();
      for (int i = 0; i < size; ++i) group.push_back(block + first + i * stride);
    }
  return groups;
}

RankGroups all_ranks(const Machine& machine) {
  const int ranks = static_cast<int>(machine.gpus.size());
  return strided_groups(ranks, ranks);
}

std::vector<DeviceId> cards_of(const Machine& machine, const std::vector<DeviceId>& gpus) {
  std::set<DeviceId> cards;
  for (const DeviceId gpu : gpus)
    for (const DeviceId card : machine.topology.nearest(gpu, DeviceKind::nic)) cards.insert(card);
  return {cards.begin(), cards.end()};
}

std::vector<GroupFabric> group_fabrics(const Machine& machine, const RankGroups& groups,
                                       const NcclSettings& settings) {
  check_ranks(machine, groups);
  const Placed placed = place_groups(machine, groups);
  std::map<NodeParts, NodeGroups> kinds;
  for (const auto& [node, parts] : placed.by_node)
    if (!kinds.contains(parts)) kinds.emplace(parts, NodeGroups(machine, parts, settings));
  std::set<std::tuple<const NodeGroups*, std::size_t, std::size_t, std::size_t>> seen;
  std::vector<GroupFabric> fabrics;
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const auto& [node, part] : placed.part_of[i]) {
      const NodeGroups& kind = kinds.at(placed.by_node.at(node));
      const std::size_t ranks = groups[i].size(), nodes = placed.part_of[i].size();
      if (seen.insert({&kind, part, ranks, nodes}).second)
        fabrics.push_back(kind.fabric(part, static_cast<int>(ranks), static_cast<int>(nodes)));
    }
  return fabrics;
}

}  // namespace gradwire

#include "topo/build/node.h"

#include <algorithm>

#include "base/error.h"
#include "topo/path.h"

namespace gradwire {
namespace {

void add_copy(const Topology& node, int index, Topology& cluster) {
  const auto offset = static_cast<DeviceId>(cluster.devices().size());
  for (Device device : node.devices()) {
    device.node = index;
    cluster.add_device(std::move(device));
  }
  const std::span<const Link> links = node.links();
  const auto moved = [&](Link link) {
    link.from += offset;
    link.to += offset;
    return link;
  };
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool cable =
        i + 1 < links.size() && links[i + 1].from == links[i].to && links[i + 1].to == links[i].from;
    if (cable)
      cluster.add_cable(moved(links[i++]));
    else
      cluster.add_link(moved(links[i]));
  }
}

Link network_link(DeviceId from, DeviceId to, Rate rate, double times) {
  rate.latency /= 2;  // card to card is two links
  rate.bytes_per_s *= times;
  rate.nominal_bytes_per_s *= times;
  rate.nccl_bytes_per_s *= times;
  return {.kind = LinkKind::network, .from = from, .to = to, .rate = rate};
}

std::vector<DeviceId> add_switches(Topology& cluster, std::size_t rails, const Rate& rate, int nodes) {
  std::vector<DeviceId> leaves;
  for (std::size_t i = 0; i < rails; ++i)
    leaves.push_back(cluster.add_device({.name = rails == 1 ? "network" : fmt::format("rail {}", i),
                                         .kind = DeviceKind::net_switch,
                                         .node = kNoNode,
                                         .model = {}}));
  if (rails == 1) return leaves;
  const DeviceId spine =
      cluster.add_device({.name = "spine", .kind = DeviceKind::net_switch, .node = kNoNode, .model = {}});
  for (const DeviceId leaf : leaves) cluster.add_cable(network_link(leaf, spine, rate, nodes));
  return leaves;
}

}  // namespace

Topology join_nodes(const Topology& node, int nodes, const NetworkSpec& network,
                    const std::vector<DeviceId>& cards) {
  const auto size = static_cast<DeviceId>(node.devices().size());
  Topology cluster;
  const auto count = static_cast<std::size_t>(nodes);
  cluster.reserve(count * node.devices().size() + cards.size() + 1,
                  count * (node.links().size() + 2 * cards.size()) + 2 * cards.size());
  for (int i = 0; i < nodes; ++i) add_copy(node, i, cluster);
  const Rate rate = network_rate(network);
  const bool rails = network.rails.value_or(false) && cards.size() > 1;
  const std::vector<DeviceId> leaves = add_switches(cluster, rails ? cards.size() : 1, rate, nodes);
  for (int i = 0; i < nodes; ++i)
    for (std::size_t card = 0; card < cards.size(); ++card)
      cluster.add_cable(network_link(i * size + cards[card], leaves[rails ? card : 0], rate, 1));
  return cluster;
}

std::vector<DeviceId> choose_cards(const Topology& node, int count) {
  std::vector<DeviceId> chosen = node.find_devices(DeviceKind::nic, 0);
  if (static_cast<int>(chosen.size()) <= count) return chosen;
  std::vector<std::pair<PathClass, DeviceId>> cards;
  const std::vector<DeviceId> gpus = node.find_devices(DeviceKind::gpu, 0);
  for (const DeviceId nic : chosen) {
    PathClass nearest = PathClass::none;
    for (const DeviceId gpu : gpus) nearest = std::min(nearest, classify(node, nic, gpu));
    cards.emplace_back(nearest, nic);
  }
  std::sort(cards.begin(), cards.end());
  chosen.clear();
  for (int i = 0; i < count; ++i) chosen.push_back(cards[static_cast<std::size_t>(i)].second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace gradwire

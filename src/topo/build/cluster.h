// Several equal nodes joined by a network.
#pragma once

#include <vector>

#include "topo/network.h"
#include "topo/topology.h"

namespace gradwire {

// `node` is one node; `cards` are its network cards in use. With rails, card i of every node is on leaf
// switch i, and the leaves are joined by a spine at full rate; otherwise one switch joins all, at full rate.
Topology join_nodes(const Topology& node, int nodes, const NetworkSpec&, const std::vector<DeviceId>& cards);

// The cards nearest to the GPUs, `count` of them, in device order.
std::vector<DeviceId> choose_cards(const Topology& node, int count);

}  // namespace gradwire

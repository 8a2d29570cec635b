// From a resolved node to a machine: one node as devices and links (the PCIe tree with its processors and memory, then
// the NVLinks), several of them joined by a network, and the GPUs of all in rank order.
#pragma once

#include <vector>

#include "topo/build/resolve.h"
#include "topo/machine.h"
#include "topo/network.h"
#include "topo/topology.h"

namespace gradwire {

Topology build_node(const ResolvedNode&);

void add_nvlinks(const ResolvedNode&, Topology&);  // between the GPUs that are there

// Who is joined to whom by NVLink: directly, or each to an NVSwitch.
struct NvlinkPlan {
  struct Port {
    int gpu = 0, nvswitch = 0, links = 0;
  };
  std::vector<NvlinkBond> bonds;
  std::vector<Port> ports;
};
NvlinkPlan plan_nvlinks(const ResolvedNode&);  // throws ConfigError

// Several equal nodes: `node` is one; `cards` are its network cards in use. With rails, card i of every node is on leaf
// switch i, and the leaves are joined by a spine at full rate; otherwise one switch joins all, at full rate.
Topology join_nodes(const Topology& node, int nodes, const NetworkSpec&, const std::vector<DeviceId>& cards);

// The cards nearest to the GPUs, `count` of them, in device order.
std::vector<DeviceId> choose_cards(const Topology& node, int count);

// The last step, however the node was found out: `node` holds one node's devices and links, made by build_node() or read from a file. Throws ConfigError.
Machine assemble(const ResolvedNode&, const Topology& node, int nodes);

}  // namespace gradwire

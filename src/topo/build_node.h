// One node as devices and links: the PCIe tree with its processors and memory, then the NVLinks.
#pragma once

#include <vector>

#include "topo/resolve.h"
#include "topo/topology.h"

namespace gradwire {

Topology build_node(const ResolvedNode&);

void add_nvlinks(const ResolvedNode&, Topology&);  // between the GPUs that are there

// How a node's matrix joins its GPUs, and an NVSwitch if their links could not all be direct.
struct NvlinkPlan {
  std::vector<NvlinkBond> bonds;     // direct
  std::vector<int> links_to_switch;  // of each GPU; empty: there is no NVSwitch
};
NvlinkPlan plan_nvlinks(const ResolvedNode&);  // throws ConfigError

}  // namespace gradwire

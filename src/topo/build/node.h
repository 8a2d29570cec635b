// One node as devices and links: the PCIe tree with its processors and memory, then the NVLinks.
#pragma once

#include <vector>

#include "topo/build/resolve.h"
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

}  // namespace gradwire

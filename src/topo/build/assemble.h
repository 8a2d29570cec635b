// The last step of making a machine, however its node was found out.
#pragma once

#include "topo/build/resolve.h"
#include "topo/machine.h"

namespace gradwire {

// `node` holds one node's devices and links, made by build_node() or read from a file. Throws ConfigError.
Machine assemble(const ResolvedNode&, const Topology& node, int nodes);

}  // namespace gradwire

// The network between the GPUs of a machine, as the model has it: every link a pipe, and for pairs of ranks
// the path that data takes (through host memory where GPUs can't reach each other).
#pragma once

#include <span>

#include "sim/network.h"
#include "topo/machine.h"

namespace gradwire {

// Ranks are the machine's GPUs in order. Pipes have the numbers of the topology's links, so that a pipe has a
// name: link_name(machine.topology, pipe). Throws ConfigError when a pair has no path.
Network make_network(const Machine& machine, std::span<const Pair> pairs);

}  // namespace gradwire

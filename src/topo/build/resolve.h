// A node with nothing left open: what was not stated is filled in with what is usual for the GPU, and noted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topo/gpu.h"
#include "topo/network.h"
#include "topo/node_spec.h"
#include "topo/rates.h"

namespace gradwire {

struct ResolvedNode {
  NodeSpec spec;  // every optional is there, except a matrix, and a network where there is none
  Gpu gpu;
  Processor cpu;
  int total_gpus = 0;  // in the node, in use or not
  std::vector<std::string> notes;
};

// `network` wins over the node's own. Throws ConfigError for what can't be.
ResolvedNode resolve(const NodeSpec&, const std::optional<NetworkSpec>& network);

// The network alone: `asked` for on the command line, or else the node's own; cards that nobody counted are the node's own,
// except that plain Ethernet is one card. Adds to node.notes.
NetworkSpec resolve_network(ResolvedNode& node, const std::optional<NetworkSpec>& asked);

}  // namespace gradwire

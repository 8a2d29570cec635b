// The network of a node with nothing left open.
#pragma once

#include <optional>

#include "topo/build/resolve.h"
#include "topo/network.h"

namespace gradwire {

// `asked` for on the command line, or else the node's own; cards that nobody counted are the node's own,
// except that plain Ethernet is one card. Adds to node.notes.
NetworkSpec resolve_network(ResolvedNode& node, const std::optional<NetworkSpec>& asked);

}  // namespace gradwire

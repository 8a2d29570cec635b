// The connections of a rank with every other rank of its world.
#pragma once

#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "net/world.h"

namespace gradwire {

using Lanes = std::vector<Fd>;  // the connections with one peer

// Connects every pair of ranks by `lanes` connections, non-blocking sockets by rank and lane; none for this
// rank. The ranks find each other through the world's store, and each listens at the world's interface only
// until its mesh stands. Connections that don't prove the world's secret change nothing. Throws what keeps a
// rank away.
std::vector<Lanes> connect_mesh(const World& world, int lanes, Deadline deadline);

}  // namespace gradwire

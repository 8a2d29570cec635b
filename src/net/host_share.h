// How the ranks of a world wait on this host: whether each of them has a core.
#pragma once

#include "net/backoff.h"
#include "net/world.h"

namespace gradwire {

// All ranks of the world call it. Counts the ranks on this host and the cores that any of them may use, so
// that ranks bound to a core each are seen to have one.
Backoff backoff_for(const World& world, Deadline deadline);

}  // namespace gradwire

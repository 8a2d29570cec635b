// The machine's own limit for an all-reduce on one host: the buffers are shared already, each rank adds its
// slice of all of them in place with one plain loop, and the ranks meet before and after. No checks, no
// choice, no safety: a yardstick that `gradwire bench --limit` runs beside the backends, never one of them.
#pragma once

#include <memory>

#include "comm/collectives.h"
#include "net/world.h"

namespace gradwire {

inline constexpr const char* kLimit = "limit";  // its name among contestants

std::unique_ptr<Collectives> make_limit(const World& world);

}  // namespace gradwire

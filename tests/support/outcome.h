// How a rank's function ended, as far as the rank itself can tell.
#pragma once

#include "support/run_ranks.h"

namespace gradwire {

// Calls the function and catches whatever it throws.
Outcome run_one(const RankFunction& function, const World& world);

}  // namespace gradwire

// Seeds for everything random in libtorch. Ranks must begin with one model, which DistributedDataParallel
// sees to, and must not drop out the same units: so a rank's own randomness has its own seed.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace gradwire {

// The same on every rank: before the model is made.
void seed_all(std::uint64_t seed);
// Different on each rank, and the same in each run: before the training loop.
void seed_rank(std::uint64_t seed, Rank rank);

}  // namespace gradwire

// Whether all ranks were asked for the same training. Each node has a command line of its own, and gradients averaged
// between different trainings are nobody's.
#pragma once

#include <string>

#include "net/world.h"
#include "train/job/options.h"

namespace gradwire {

// What differs, with the flag and both values, as in "--lr is 0.05 here and 0.01 on rank 0"; empty: nothing that matters.
// Files may have other names on other nodes.
std::string find_difference(const TrainOptions& here, const TrainOptions& on_rank_0);

// All ranks call it before anything else. Throws ConfigError on the ranks whose training is not rank 0's.
void agree_on_options(const World& world, const TrainOptions& options);

}  // namespace gradwire

// Where to cut a row of layers into stages, so that the slowest stage is as fast as can be. Without torch.
#pragma once

#include <span>
#include <vector>

namespace gradwire {

// The first layer of each stage: stages + 1 numbers, from 0 to the number of layers. No stage is empty. The largest sum of
// a stage's costs is the smallest there is; of cuts that share it, the one with the least sum of squares, so that
// the other stages are even too. Throws ConfigError where there are more stages than layers.
std::vector<int> balanced_cut(std::span<const double> costs, int stages);

// The largest sum of a stage.
double slowest_stage(std::span<const double> costs, std::span<const int> cut);

}  // namespace gradwire

// Where a gain lies, given what is doubted: each doubt can go to either end of what holds eight of ten, and the gain is
// solved for the world in which it has. So an end of the range is a gain that machines can have. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace gradwire {

// A factor of throughput and where it lies, from the errors of the parts that differ.
struct Effect {
  double speedup = 1, low = 1, high = 1;
};

// The gain where each doubt has gone a share of the way to an end, -1 to 1; all 0: as estimated.
using GainIn = std::function<double(std::span<const double> shares)>;

Effect range_of(std::size_t doubts, const GainIn&);

}  // namespace gradwire

// A measured sweep as a curve: time over bytes, alpha + beta x bytes in a few stretches of sizes, because a
// backend changes its ways with size (caches, protocols, algorithms). What predictions of a backend whose
// steps are not ours rest on. Values.
#pragma once

#include <span>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct Sample {
  Bytes bytes = 0;
  Seconds time = 0;
};

// Relative: 0.1 is 10 %.
struct FitError {
  double mean = 0, worst = 0;  // of |fitted / measured - 1|
};

struct Stretch {
  double from = 0;  // bytes; up to where the next begins
  Seconds alpha = 0;
  double seconds_per_byte = 0;
  Seconds at(double bytes) const { return alpha + seconds_per_byte * bytes; }
};

class Curve {
 public:
  Curve(std::vector<Stretch> stretches, FitError error);
  Seconds at(Bytes bytes) const;  // below and above what was measured the first and last stretch go on
  std::span<const Stretch> stretches() const { return stretches_; }
  FitError error() const { return error_; }

 private:
  std::vector<Stretch> stretches_;
  FitError error_;
};

// The line that fits best, relatively: least squares of log(fitted / measured), so that half and twice are
// equally wrong; neither alpha nor beta below 0.
Stretch fit_line(std::span<const Sample> samples);

// Of samples of one size the median counts, so that one disturbed round does not. As many stretches as the
// data asks for, at most four. Where no such curve comes within 20 % of every size, which happens where
// caches end or the machine is shared, the curve goes through the medians instead, and its error is how far
// each is from the line between its neighbours. Throws ConfigError when there is no sample, or one with a
// time that can't be.
Curve fit_curve(std::span<const Sample> samples);

}  // namespace gradwire

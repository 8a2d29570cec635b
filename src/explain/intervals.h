// Sets of moments: intervals in order that neither touch nor overlap. What every figure of a trace is counted
// with, so that nothing counts twice. Values and pure functions, each one pass over sorted intervals.
#pragma once

#include <vector>

#include "import/profile.h"

namespace gradwire {

struct Interval {
  Nanoseconds begin = 0, end = 0;
  bool operator==(const Interval&) const = default;
};
using Intervals = std::vector<Interval>;

Intervals united(Intervals any);  // in any order, overlapping as they like
Intervals united(const Intervals& a, const Intervals& b);
Intervals common(const Intervals& a, const Intervals& b);   // these three take and give sets
Intervals without(const Intervals& a, const Intervals& b);  // a, but not b
Intervals within(const Intervals& a, const Interval& window);
Nanoseconds length(const Intervals&);
bool contains(const Intervals&, Nanoseconds moment);

}  // namespace gradwire

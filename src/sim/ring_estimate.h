// How long a ring (all_reduce, reduce_scatter, all_gather) takes on a network, without replaying it, in
// microseconds.
//
// The hops of a ring wait for each other, so all advance at one rate, and what they share decides it. A hop
// never gets less of a pipe than the pipe's rate divided by all that ever cross it; with that,
// ring_recurrence gives a time that the replay can't exceed. It is the exact time
//   - where no pipe is too narrow for all that cross it at their own full rates: hops don't touch each other;
//   - where all hops are alike: they begin and end every message together, so each has just that rate.
// Elsewhere there is a lower bound too: every hop alone on its pipes, and every pipe's bytes at its full
// rate. Where chunks differ by an element, the time is between those with all chunks small and all large.
#pragma once

#include "base/collective.h"
#include "sim/cost.h"
#include "sim/network.h"

namespace gradwire {

// `bytes` is what the larger of `in` and `out` holds; `cut` as sched/algorithms.h takes it.
struct RingCall {
  Bytes bytes = 0;
  int cut = 1;
  Collective kind = Collective::all_reduce;
};

struct Estimate {
  Seconds low = 0, high = 0;
  double error() const { return high > 0 ? (high - low) / high : 0; }  // 0.01: may be 1 % too high
  bool exact() const { return error() < 1e-9; }
};

// The network must have a way from every rank to the next. Throws ConfigError for another collective.
Estimate estimate_ring(const RingCall& call, const Network& network, const CostModel& cost = {});

// The estimate where it is within `tolerance`, else a replay; with over four million messages the estimate
// all the same, whose error then says what it is worth.
struct RingTime {
  Seconds time = 0;
  double error = 0;  // at most so much, relatively; 0 when replayed or exact
  bool replayed = false;
};
RingTime ring_time(const RingCall& call, const Network& network, const CostModel& cost = {},
                   double tolerance = 1e-3);

}  // namespace gradwire

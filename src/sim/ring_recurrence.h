// When a ring is done, from how long a message takes on every hop, without replaying it: the steps of
// sched/algorithms.h (all_reduce, reduce_scatter, all_gather) as a recurrence over messages. Exact for messages of
// one size.
#pragma once

#include <span>

#include "base/collective.h"
#include "base/units.h"

namespace gradwire {

// From a rank to the next. A message takes `transfer` of the hop's time, `latency` passes beside it.
struct Hop {
  Seconds latency = 0, transfer = 0;
  bool operator==(const Hop&) const = default;
};

struct RingSteps {
  Collective kind = Collective::all_reduce;
  int world = 1, cut = 1;  // as ring_all_reduce() takes them
  Seconds reduce = 0;      // to add up one chunk
  Seconds copy = 0;        // of a rank's own data to its place: all_gather only
};

// `hops` of one period of the ring: a ring that looks the same from every p-th rank behaves the same there,
// so p hops stand for all. Costs about 5 ns for each of hops x messages a hop.
Seconds ring_recurrence(std::span<const Hop> hops, const RingSteps& steps);

// The shortest period: hops[i] == hops[i + p] all the way round.
std::size_t period_of(std::span<const Hop> hops);

}  // namespace gradwire

// When the last byte of a ring all-reduce arrives, from how long a message takes on every hop, without
// replaying it: the steps of ring.h as a recurrence over messages. Exact for messages of one size.
#pragma once

#include <span>

#include "base/units.h"

namespace gradwire {

// From a rank to the next. A message takes `transfer` of the hop's time, `latency` passes beside it.
struct Hop {
  Seconds latency = 0, transfer = 0;
  bool operator==(const Hop&) const = default;
};

struct RingSteps {
  int world = 1, cut = 1;  // as ring_all_reduce() takes them
  Seconds reduce = 0;      // to add up one chunk
};

// `hops` of one period of the ring: a ring that looks the same from every p-th rank behaves the same there,
// so p hops stand for all. Costs about 5 ns for each of hops x cut x 2 (world - 1).
Seconds ring_recurrence(std::span<const Hop> hops, const RingSteps& steps);

// The shortest period: hops[i] == hops[i + p] all the way round.
std::size_t period_of(std::span<const Hop> hops);

}  // namespace gradwire

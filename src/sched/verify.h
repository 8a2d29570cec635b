// Proves programs: runs them on sets of ranks and looks at what every rank ends with.
//
// One run is proof for every timing. Which messages meet is fixed by their order, which steps wait for which
// by the chunks they touch, so whatever the timing, every step reads the same values; and a run that does not
// get stuck when sends wait for their receiver doesn't when they needn't.
#pragma once

#include <span>

#include "sched/program.h"

namespace gradwire {

// `parts` of ranks 0..n-1. Throws Error whose text begins with the name of the fault and says who and where:
//   malformed          a chunk, peer or shape that doesn't exist, or shapes that differ
//   wrong chunk        data is missing, added twice, mixed with other data, or not where it belongs
//   different sums     ranks add up a chunk in different orders, so their bits may differ
//   lost message       sent but never received
//   stuck              ranks wait for each other, or for a message nobody sends
void verify(Collective kind, std::span<const Part> parts, Rank root = 0);

}  // namespace gradwire

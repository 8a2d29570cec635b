// Recursive halving and doubling: partners at distance n/2, n/4, ..., 1 exchange halves of what they still
// have to add up, then go the same way back and exchange what is complete. 2 log n messages in a row instead
// of a ring's 2 (n - 1), with the same bytes: the choice for data too small to keep a ring busy.
#pragma once

#include "sched/program.h"

namespace gradwire {

// Any world size: where it is not a power of two, the ranks beyond hand their data to a neighbour first and
// get the result from it last.
Part halving_doubling_all_reduce(Rank me, int world);

}  // namespace gradwire

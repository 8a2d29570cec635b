// Rings: every rank sends to the next and receives from the one before. All links carry the same bytes, and
// no algorithm moves fewer, so a ring is the choice for large data.
//
// With `cut` above 1, so many pieces (pieces.h) go round, each of one chunk for each rank.
#pragma once

#include <span>

#include "sched/program.h"

namespace gradwire {

Part ring_all_reduce(Rank me, int world, int cut = 1);
Part ring_reduce_scatter(Rank me, int world, int cut = 1);
Part ring_all_gather(Rank me, int world, int cut = 1);

// For algorithms that have rings in them: some ranks in a circle, of which I am the one at `me`.
struct Circle {
  std::span<const Rank> ranks;
  int me = 0;

  int size() const { return static_cast<int>(ranks.size()); }
  int back(int steps) const { return ((me - steps) % size() + size()) % size(); }
  Rank next() const { return ranks[back(-1)]; }
  Rank previous() const { return ranks[back(1)]; }
};

// Pieces that take turns: piece k has its chunks from first + k * stride on, and the place slot + k in
// scratch.
struct Pieces {
  int first = 0, stride = 0, count = 1, slot = 0;
};

void append_ring_all_reduce(Program& program, const Circle& circle, const Pieces& pieces);

}  // namespace gradwire

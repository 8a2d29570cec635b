#include "sched/algorithms.h"

#include <gtest/gtest.h>

#include "sched/proof.h"

namespace gradwire {
namespace {

// One piece, fewer than are in flight, exactly as many, and some blocks with a rest.
constexpr int kCuts[] = {1, 2, 3, 4, 5, 9};

TEST(Ring, reduces_everything_everywhere_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const int cut : kCuts)
      prove(Collective::all_reduce, world, [&](Rank me) { return ring_all_reduce(me, world, cut); });
}

TEST(Ring, scatters_the_sum_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const int cut : kCuts)
      prove(Collective::reduce_scatter, world, [&](Rank me) { return ring_reduce_scatter(me, world, cut); });
}

TEST(Ring, gathers_all_parts_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const int cut : kCuts)
      prove(Collective::all_gather, world, [&](Rank me) { return ring_all_gather(me, world, cut); });
}

TEST(Ring, sends_every_chunk_but_one_twice) {
  const Part part = ring_all_reduce(3, 8, 5);
  int sent = 0;
  for (const Step& step : part.program) sent += step.op == Op::send ? step.src.count : 0;
  EXPECT_EQ(part.shape.chunks[kOut], 8 * 5);
  EXPECT_EQ(sent, 2 * 7 * 5);
}

TEST(Ring, needs_scratch_for_the_pieces_in_flight_alone) {
  EXPECT_EQ(ring_all_reduce(0, 4, 1).shape.chunks[kScratch], 1);
  EXPECT_EQ(ring_all_reduce(0, 4, 1000).shape.chunks[kScratch], 4);
  EXPECT_EQ(ring_reduce_scatter(0, 4, 1000).shape.chunks[kScratch], 8);
}

}  // namespace
}  // namespace gradwire

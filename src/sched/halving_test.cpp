#include "sched/algorithms.h"

#include <gtest/gtest.h>

#include "sched/proof.h"

namespace gradwire {
namespace {

TEST(HalvingDoubling, reduces_everything_everywhere_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    prove(Collective::all_reduce, world, [&](Rank me) { return halving_doubling_all_reduce(me, world); });
}

TEST(HalvingDoubling, needs_two_messages_a_doubling_and_the_bytes_of_a_ring) {
  int messages = 0, chunks = 0;
  for (const Step& step : halving_doubling_all_reduce(5, 16).program)
    if (step.op == Op::send) ++messages, chunks += step.src.count;
  EXPECT_EQ(messages, 2 * 4);
  EXPECT_EQ(chunks, 2 * 15);
}

}  // namespace
}  // namespace gradwire

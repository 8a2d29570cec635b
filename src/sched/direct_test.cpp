#include "sched/algorithms.h"

#include <gtest/gtest.h>

#include "sched/proof.h"

namespace gradwire {
namespace {

TEST(Direct, exchanges_and_reduces_whole_data_in_one_order_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const int cut : {1, 2, 6})
      prove(Collective::all_reduce, world, [&](Rank me) { return exchange_all_reduce(me, world, cut); });
}

TEST(Direct, reduces_everything_everywhere_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    prove(Collective::all_reduce, world, [&](Rank me) { return direct_all_reduce(me, world); });
}

TEST(Direct, scatters_the_sum_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    prove(Collective::reduce_scatter, world, [&](Rank me) { return direct_reduce_scatter(me, world); });
}

TEST(Direct, gathers_all_parts_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    prove(Collective::all_gather, world, [&](Rank me) { return direct_all_gather(me, world); });
}

TEST(Direct, gives_everybody_its_part_of_everybody_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    prove(Collective::all_to_all, world, [&](Rank me) { return direct_all_to_all(me, world); });
}

TEST(Direct, lets_nobody_leave_a_barrier_before_all_have_come_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    prove(Collective::barrier, world, [&](Rank me) { return dissemination_barrier(me, world); });
}

}  // namespace
}  // namespace gradwire

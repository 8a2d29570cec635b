#include "comm/scheduled/plans.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

const Plan& plan_for(Plans& plans, const Problem& problem) { return plans.get(problem, choose(problem)); }

TEST(Plans, are_made_once_for_calls_that_differ_in_bytes_alone) {
  Plans plans(0);
  const Plan* first = &plan_for(plans, {.world = 2, .bytes = 4});
  EXPECT_EQ(&plan_for(plans, {.world = 2, .bytes = 1000}), first);
  EXPECT_EQ(&plan_for(plans, {.world = 2, .bytes = 4, .root = 1}), first);  // an all_reduce has no root
  EXPECT_EQ(plans.size(), 1u);
}

TEST(Plans, differ_by_collective_root_and_pieces) {
  Plans plans(0);
  for (const Bytes bytes : {4, 64 << 20})
    for (const Rank root : {0, 1})
      for (const Collective kind : {Collective::broadcast, Collective::reduce})
        plan_for(plans, {.kind = kind, .world = 2, .bytes = bytes, .root = root});
  EXPECT_EQ(plans.size(), 8u);
}

TEST(Plans, forget_the_least_recently_used_when_there_are_too_many) {
  Plans plans(0, 2);
  const Plan* used = &plan_for(plans, {.kind = Collective::barrier, .world = 2});
  plan_for(plans, {.kind = Collective::all_gather, .world = 2});
  plan_for(plans, {.kind = Collective::barrier, .world = 2});
  plan_for(plans, {.kind = Collective::all_to_all, .world = 2});
  EXPECT_EQ(plans.size(), 2u);
  EXPECT_EQ(&plan_for(plans, {.kind = Collective::barrier, .world = 2}), used);
}

}  // namespace
}  // namespace gradwire

#include "net/backoff.h"

#include <gtest/gtest.h>

#include "support/run_ranks.h"

namespace gradwire {
namespace {

TEST(HostShare, spins_while_every_rank_has_a_core_and_not_when_ranks_outnumber_them) {
  const int cores = usable_cores();
  expect_all_ok(run_threads(cores, [](const World& world) {
    EXPECT_TRUE(backoff_for(world, Deadline::after(world.timeout)).spins());
  }));
  expect_all_ok(run_threads(cores + 1, [](const World& world) {
    EXPECT_FALSE(backoff_for(world, Deadline::after(world.timeout)).spins());
  }));
}

TEST(HostShare, counts_ranks_bound_to_a_core_each_as_having_one) {
  expect_all_ok(run_threads(usable_cores(), [](const World& world) {
    bind_to_core(world.rank);
    EXPECT_TRUE(backoff_for(world, Deadline::after(world.timeout)).spins());
  }));
}

TEST(HostShare, sees_that_ranks_bound_to_one_core_share_it) {
  expect_all_ok(run_threads(2, [](const World& world) {
    bind_to_core(0);
    EXPECT_FALSE(backoff_for(world, Deadline::after(world.timeout)).spins());
  }));
}

}  // namespace
}  // namespace gradwire

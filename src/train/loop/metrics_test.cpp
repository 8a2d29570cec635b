#include "train/loop/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "comm/make.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

// Rank 0: 2 over 10 samples. Rank 1: 5 over 30. Together (20 + 150) / 40 = 4.25.
TEST(Metrics, are_means_over_all_samples_of_all_ranks) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Metrics metrics;
    metrics.add("loss", world.rank == 0 ? 1 : 5, world.rank == 0 ? 5 : 30);
    if (world.rank == 0) metrics.add("loss", 3, 5);
    metrics.add("nothing", NAN, 0);
    const auto means = metrics.reduce(*communicator);
    EXPECT_EQ(means.size(), 1u);
    EXPECT_DOUBLE_EQ(means.at("loss"), 4.25);
    EXPECT_TRUE(metrics.reduce(*communicator).empty()) << "begins anew";
  }));
}

TEST(Metrics, that_ranks_do_not_share_are_a_mismatch) {
  run_threads(2, [](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Metrics metrics;
    metrics.add(world.rank == 0 ? "loss" : "accuracy", 1);
    EXPECT_THROW(metrics.reduce(*communicator), Error);
  });
}

}  // namespace
}  // namespace gradwire

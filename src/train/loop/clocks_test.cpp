#include "train/loop/clocks.h"

#include <gtest/gtest.h>

#include "comm/make.h"
#include "support/run_ranks.h"
#include "trace/recorder.h"
#include "train/loop/gather_timeline.h"

namespace gradwire {
namespace {

// Rank r's clock is 1000 r seconds ahead of the real one: to rank 0's, -1000 r.
TEST(Clocks, of_other_hosts_are_found_within_the_uncertainty_they_state) {
  expect_all_ok(run_threads(3, [](const World& world) {
    const auto communicator = make_communicator(world, "tcp");
    const auto clock = [&] { return steady_now() + 1000.0 * world.rank; };
    const ClockOffset found = align_clocks(*communicator, clock);
    EXPECT_NEAR(found.offset, -1000.0 * world.rank, found.uncertainty + 1e-9);
    if (world.rank > 0) {
      EXPECT_GT(found.uncertainty, 0);
    }
  }));
}

TEST(Clocks, that_agree_are_left_alone) {
  expect_all_ok(run_threads(
      2, [](const World& world) { EXPECT_EQ(align_clocks(*make_communicator(world, "shm")).offset, 0); }));
}

TEST(GatherTimeline, puts_the_ranks_on_one_clock_that_begins_at_zero) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Recorder recorder(4);
    // Rank 1's clock is 50 s ahead.
    const Seconds at = world.rank == 0 ? 100 : 151;
    const RehearsedCall call{Collective::all_gather, true, "everybody"};
    recorder.add_bucket(0, 8, {at, at + 0.25, at + 0.5});
    recorder.add_rehearsed(call, 1, 8, {at + 1, at + 1, at + 1});
    const Timeline whole =
        gather_timeline(*communicator, recorder, {world.rank == 0 ? 0.0 : -50.0, 0}, "here");
    ASSERT_EQ(whole.ranks, 2);
    ASSERT_EQ(whole.spans.size(), 4u);
    EXPECT_NEAR(whole.spans[0].ready, 0, 1e-9);
    EXPECT_NEAR(whole.spans[0].begin, 0.25, 1e-9);
    EXPECT_NEAR(whole.spans[2].ready, 1, 1e-9);
    EXPECT_EQ(whole.spans[2].rank, 1);
    EXPECT_FALSE(whole.spans[2].rehearsed);
    EXPECT_EQ(whole.spans[3].rehearsed, call);
  }));
}

}  // namespace
}  // namespace gradwire

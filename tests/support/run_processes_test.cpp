#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

void wait_for_all(const World& world) {
  world.store->set(std::to_string(world.rank), "here");
  for (Rank rank = 0; rank < world.size; ++rank)
    get_from(*world.store, rank, std::to_string(rank), Deadline::after(world.timeout));
}

TEST(RunProcesses, gives_every_rank_its_place_in_one_world) {
  expect_all_ok(run_processes(4, [](const World& world) {
    EXPECT_EQ(world.size, 4);
    EXPECT_EQ(world.local_rank, world.rank);
    EXPECT_EQ(world.local_size, 4);
    EXPECT_EQ(world.timeout, 20);
    wait_for_all(world);
  }));
}

TEST(RunProcesses, tells_each_ranks_fate) {
  const auto outcomes = run_processes(5, [](const World& world) {
    wait_for_all(world);
    if (world.rank == 1) throw PeerLost(3, "rank 3 is gone");
    if (world.rank == 2) ::_exit(9);
    if (world.rank == 3) ::raise(SIGKILL);
    if (world.rank == 4) ::raise(SIGSTOP);
  });
  EXPECT_TRUE(outcomes[0].ok()) << describe(outcomes[0]);
  EXPECT_EQ(describe(outcomes[1]), "rank 1 threw PeerLost: rank 3 is gone");
  EXPECT_EQ(outcomes[1].peer, 3);
  EXPECT_EQ(describe(outcomes[2]), "rank 2 exited with code 9");
  EXPECT_EQ(describe(outcomes[3]), "rank 3 was killed by SIGKILL");
  EXPECT_EQ(describe(outcomes[4]), "rank 4 was stopped by SIGSTOP");
}

TEST(RunProcesses, tells_a_failed_expectation_from_success) {
  const auto outcomes = run_processes(1, [](const World& world) {
    EXPECT_EQ(world.size, 2) << "(this failure is meant: it stands in a rank of its own)";
  });
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::failed);
}

TEST(RunProcesses, kills_what_hangs) {
  const auto outcomes = run_processes(1,
                                      [](const World&) {
                                        for (;;) ::pause();
                                      },
                                      {.deadline = 0.5});
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::hung);
}

TEST(RunProcesses, a_rank_learns_that_the_host_of_the_store_is_dead) {
  const auto outcomes = run_processes(2, [](const World& world) {
    wait_for_all(world);
    if (world.rank == 0) ::raise(SIGKILL);
    get_from(*world.store, 0, "never", Deadline::after(world.timeout));
  });
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::killed);
  EXPECT_EQ(outcomes[1].error, "PeerLost");
  EXPECT_EQ(outcomes[1].peer, 0);
}

TEST(RunProcesses, a_rank_can_pretend_to_be_on_another_host) {
  const RunOptions options{
      .before_join = [](Rank rank) { ::setenv("GRADWIRE_HOST", rank < 3 ? "left" : "right", 1); }};
  expect_all_ok(run_processes(
      5,
      [](const World& world) {
        EXPECT_EQ(world.local_size, world.rank < 3 ? 3 : 2);
        EXPECT_EQ(world.local_rank, world.rank < 3 ? world.rank : world.rank - 3);
      },
      options));
}

}  // namespace
}  // namespace gradwire

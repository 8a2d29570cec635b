#include <gtest/gtest.h>

#include "base/error.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

TEST(RunThreads, gives_every_rank_its_place_in_one_world) {
  const auto outcomes = run_threads(4, [](const World& world) {
    EXPECT_EQ(world.size, 4);
    EXPECT_EQ(world.local_rank, world.rank);
    world.store->set(std::to_string(world.rank), "here");
    for (int peer = 0; peer < 4; ++peer)
      EXPECT_EQ(world.store->get(std::to_string(peer), Deadline::after(world.timeout)), "here");
  });
  expect_all_ok(outcomes);
}

TEST(RunThreads, tells_what_each_rank_threw) {
  const auto outcomes = run_threads(3, [](const World& world) {
    if (world.rank == 1) throw PeerLost(2, "rank 2 is gone");
    if (world.rank == 2) throw std::invalid_argument("no");
  });
  EXPECT_TRUE(outcomes[0].ok());
  EXPECT_EQ(outcomes[1].error, "PeerLost");
  EXPECT_EQ(outcomes[1].peer, 2);
  EXPECT_EQ(describe(outcomes[2]), "rank 2 threw std::exception: no");
}

}  // namespace
}  // namespace gradwire

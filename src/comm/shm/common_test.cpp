#include "comm/shm/common.h"

#include <gtest/gtest.h>

#include "comm/queued.h"
#include "comm/shm/shm.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

// Every rank writes its part, all meet, and each reads all parts; then once more with other values.
void write_and_read(const World& world) {
  Queued communicator(make_shm(world));
  ASSERT_TRUE(can_share_memory(communicator));
  const Memory memory = allocate_common(communicator, static_cast<std::size_t>(world.size) * sizeof(int));
  const auto values = memory.as<int>();
  ASSERT_EQ(values.size(), static_cast<std::size_t>(world.size));
  for (int round = 0; round < 100; ++round) {
    values[static_cast<std::size_t>(world.rank)] = round * 10 + world.rank;
    communicator.run(barrier());
    for (int peer = 0; peer < world.size; ++peer)
      EXPECT_EQ(values[static_cast<std::size_t>(peer)], round * 10 + peer);
    communicator.run(barrier());
  }
}

TEST(CommonMemory, shows_every_rank_what_the_others_wrote_before_they_met) {
  for (const int ranks : {1, 2, 4}) {
    expect_all_ok(run_processes(ranks, write_and_read));
    expect_all_ok(run_threads(ranks, write_and_read));
  }
}

// The owner may go first.
TEST(CommonMemory, stays_until_the_last_rank_lets_go) {
  expect_all_ok(run_processes(2, [](const World& world) {
    Queued communicator(make_shm(world));
    Memory memory = allocate_common(communicator, 1 << 16);
    memory.bytes()[static_cast<std::size_t>(world.rank)] = std::byte{7};
    communicator.run(barrier());
    if (world.rank == 0) memory = Memory();
    communicator.run(barrier());
    if (world.rank == 0) return;
    EXPECT_EQ(memory.bytes()[0], std::byte{7});
  }));
}

}  // namespace
}  // namespace gradwire

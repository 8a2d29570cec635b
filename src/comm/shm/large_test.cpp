// More bytes than 32 bits can count, in memory that is shared and in memory that is staged.
#include <gtest/gtest.h>

#include "comm/queued.h"
#include "comm/shm/shm.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

constexpr std::size_t kBytes = (std::size_t{1} << 31) + 12'345;

void expect_sum_of_bytes(bool shared) {
  const auto outcomes =
      run_processes(2,
                    [shared](const World& world) {
                      Queued communicator(make_shm(world));
                      const Memory memory = shared ? communicator.allocate(kBytes) : allocate_private(kBytes);
                      const auto bytes = memory.as<unsigned char>();
                      for (std::size_t i = 0; i < kBytes; ++i)
                        bytes[i] = static_cast<unsigned char>(i / 7 + static_cast<unsigned>(world.rank));
                      communicator.run(all_reduce(memory.bytes(), DType::u8));
                      std::size_t wrong = 0;
                      for (std::size_t i = 0; i < kBytes; ++i)
                        wrong += bytes[i] != static_cast<unsigned char>(2 * (i / 7) + 1);
                      EXPECT_EQ(wrong, 0U);
                    },
                    {.deadline = 300, .timeout = 120});
  expect_all_ok(outcomes);
}

TEST(ShmLarge, sums_more_than_two_to_the_31_bytes_in_place) { expect_sum_of_bytes(true); }

TEST(ShmLarge, sums_more_than_two_to_the_31_bytes_through_stages) { expect_sum_of_bytes(false); }

}  // namespace
}  // namespace gradwire

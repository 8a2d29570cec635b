#include <gtest/gtest.h>

#include "comm/scheduled/group.h"
#include "comm/scheduled/scheduled.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

// The signs of 32-bit trouble are at 2^31 and 2^32 bytes; this goes past the first. 16-bit elements, an odd
// number of them, so that no chunk is like another.
TEST(ScheduledLarge, reduces_more_than_two_to_the_31_bytes) {
  constexpr std::size_t kBytes = (std::size_t{1} << 31) + (1 << 20) + 2;
  const auto work = [](const World& world) {
    const auto group = make_scheduled(make_shm_transport(world));
    const Memory memory = group->allocate(kBytes);
    const std::span<std::uint16_t> data = memory.as<std::uint16_t>();
    const auto value = [](std::size_t i) {
      return static_cast<std::uint16_t>(0x3c00 + i % 1024);
    };  // in [1, 2)
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(i);
    run_call(*group, all_reduce(memory.bytes(), DType::f16, Reduction::avg));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] != value(i);
    EXPECT_EQ(wrong, 0u);
  };
  expect_all_ok(run_threads(2, work, {.deadline = 300, .timeout = 300}));
}

}  // namespace
}  // namespace gradwire

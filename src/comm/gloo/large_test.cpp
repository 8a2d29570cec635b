#include <gtest/gtest.h>

#include "comm/call_fixture.h"
#include "comm/gloo/gloo.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

// The signs of 32-bit trouble are at 2^31 and 2^32 bytes; this goes past the first, with an odd number of
// elements.
constexpr std::size_t kElements = (std::size_t{1} << 29) + 12345;

float value(std::size_t index, Rank rank) {
  return static_cast<float>(index % 1021 + static_cast<unsigned>(rank));
}

TEST(GlooLarge, reduces_and_broadcasts_more_than_two_to_the_31_bytes) {
  const auto work = [](const World& world) {
    const auto group = make_gloo(world);
    const Memory memory = group->allocate(kElements * sizeof(float));
    const auto data = memory.as<float>();
    for (std::size_t i = 0; i < kElements; ++i) data[i] = value(i, world.rank);
    run_call(*group, all_reduce(memory.bytes(), DType::f32), 0);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kElements; ++i) wrong += data[i] != value(i, 0) + value(i, 1);
    EXPECT_EQ(wrong, 0u);

    for (std::size_t i = 0; i < kElements; ++i) data[i] = world.rank == 1 ? value(i, 7) : 0;
    run_call(*group, broadcast(memory.bytes(), DType::f32, 1), 1);
    for (std::size_t i = 0; i < kElements; ++i) wrong += data[i] != value(i, 7);
    EXPECT_EQ(wrong, 0u);
  };
  expect_all_ok(run_threads(2, work, {.deadline = 300, .timeout = 300}));
}

}  // namespace
}  // namespace gradwire

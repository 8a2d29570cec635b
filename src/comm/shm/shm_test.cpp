#include "comm/shm/shm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/collectives_conformance.h"
#include "comm/queued.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::IsEmpty;

class ShmOfSomeRanks : public testing::TestWithParam<int> {};

TEST_P(ShmOfSomeRanks, does_every_collective_right_between_processes) {
  expect_all_ok(run_processes(
      GetParam(), [](const World& world) { EXPECT_THAT(check_collectives(*make_shm(world)), IsEmpty()); }));
}

TEST_P(ShmOfSomeRanks, does_every_collective_right_between_threads) {
  expect_all_ok(run_threads(GetParam(), [](const World& world) {
    EXPECT_THAT(check_collectives(*make_shm(world), {.dtypes = {DType::f32}, .large_count = 0}), IsEmpty());
  }));
}

INSTANTIATE_TEST_SUITE_P(OneToThree, ShmOfSomeRanks, testing::Values(1, 2, 3));

TEST(Shm, does_every_collective_right_with_more_ranks_than_cores) {
  expect_all_ok(run_processes(5, [](const World& world) {
    EXPECT_THAT(check_collectives(*make_shm(world), {.dtypes = {DType::f32}, .reductions = {Reduction::sum}}),
                IsEmpty());
  }));
}

void fill(std::span<float> values, float value) { std::fill(values.begin(), values.end(), value); }

bool all_are(std::span<const float> values, float value) {
  return std::all_of(values.begin(), values.end(), [value](float v) { return v == value; });
}

constexpr std::size_t kCount = 100'000;

TEST(Shm, sums_when_only_some_ranks_use_communicator_memory) {
  for (const std::size_t count : {std::size_t{1000}, kCount})
    expect_all_ok(run_processes(3, [count](const World& world) {
      Queued communicator(make_shm(world));
      for (int pass = 0; pass < 4; ++pass) {
        const bool shared = (world.rank + pass) % 3 == 0;
        const Memory memory = shared ? communicator.allocate(count * 4) : allocate_private(count * 4);
        fill(memory.as<float>(), static_cast<float>(world.rank + pass));
        communicator.run(all_reduce(memory.bytes(), DType::f32));
        EXPECT_TRUE(all_are(memory.as<float>(), 3.0F + 3.0F * static_cast<float>(pass)));
      }
    }));
}

TEST(Shm, keeps_apart_blocks_of_memory_that_follow_each_other_at_one_address) {
  expect_all_ok(run_processes(2, [](const World& world) {
    Queued communicator(make_shm(world));
    for (int pass = 1; pass <= 50; ++pass) {
      const Memory memory = communicator.allocate(kCount * 4);
      fill(memory.as<float>(), static_cast<float>(pass * (world.rank + 1)));
      communicator.run(all_reduce(memory.bytes(), DType::f32));
      EXPECT_TRUE(all_are(memory.as<float>(), 3.0F * static_cast<float>(pass)));
    }
  }));
}

TEST(Shm, reduces_a_part_of_a_block_and_leaves_the_rest_alone) {
  expect_all_ok(run_processes(2, [](const World& world) {
    Queued communicator(make_shm(world));
    const Memory memory = communicator.allocate(kCount * 4);
    const auto values = memory.as<float>();
    fill(values, 1);
    communicator.run(all_reduce(bytes_of(values.subspan(1234, 50'000)), DType::f32));
    EXPECT_TRUE(all_are(values.first(1234), 1));
    EXPECT_TRUE(all_are(values.subspan(1234, 50'000), 2));
    EXPECT_TRUE(all_are(values.subspan(51'234), 1));
  }));
}

TEST(Shm, gives_memory_that_is_zero_and_aligned_to_a_page) {
  expect_all_ok(run_threads(2, [](const World& world) {
    const auto collectives = make_shm(world);
    const Memory memory = collectives->allocate(10'000);
    EXPECT_EQ(memory.bytes().size(), 10'000U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % 4096, 0U);
    EXPECT_TRUE(std::all_of(memory.bytes().begin(), memory.bytes().end(),
                            [](std::byte b) { return b == std::byte{}; }));
  }));
}

TEST(Shm, overlaps_calls_that_were_started_with_what_the_caller_does) {
  expect_all_ok(run_processes(2, [](const World& world) {
    Queued communicator(make_shm(world));
    std::vector<Memory> buckets;
    std::vector<std::unique_ptr<Work>> works;
    for (int i = 0; i < 8; ++i) {
      buckets.push_back(communicator.allocate(kCount * 4));
      fill(buckets.back().as<float>(), static_cast<float>(i + world.rank));
      works.push_back(communicator.start(all_reduce(buckets.back().bytes(), DType::f32, Reduction::avg)));
    }
    for (int i = 0; i < 8; ++i) {
      works[i]->wait();
      EXPECT_TRUE(all_are(buckets[i].as<float>(), static_cast<float>(i) + 0.5F));
    }
  }));
}

}  // namespace
}  // namespace gradwire

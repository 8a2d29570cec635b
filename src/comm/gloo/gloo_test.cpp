#include "comm/gloo/gloo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error.h"
#include "comm/call_fixture.h"
#include "comm/collectives_conformance.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

RankFunction conforms(const GlooOptions& gloo, const ConformanceOptions& what) {
  return [=](const World& world) {
    const auto group = make_gloo(world, gloo);
    EXPECT_THAT(check_collectives(*group, what), IsEmpty());
  };
}

// A small call takes Gloo a tenth of a millisecond, and ten on a machine with more to do than cores; so not
// everything runs with everything.
const ConformanceOptions kEveryType{.counts = {0, 17}, .large_count = 200'003};
const ConformanceOptions kSomeTypes{.dtypes = {DType::f32, DType::bf16},
                                    .reductions = {Reduction::avg, Reduction::max},
                                    .counts = {0, 1, 1027},
                                    .large_count = 100'003};
const RunOptions kPatient{.deadline = 300, .timeout = 60};

TEST(Gloo, does_what_every_backend_must_between_processes) {
  expect_all_ok(run_processes(2, conforms({}, kEveryType), kPatient));
}

TEST(Gloo, does_what_every_backend_must_between_threads) {
  for (const int ranks : {1, 2, 3}) expect_all_ok(run_threads(ranks, conforms({}, kSomeTypes), kPatient));
}

TEST(Gloo, does_it_without_asking_the_others_first) {
  std::atomic<int> done = 0;
  const auto work = [&](const World& world) {
    const auto group = make_gloo(world, {.check = false});
    EXPECT_THAT(check_collectives(*group, kSomeTypes), IsEmpty());
    for (++done; done < world.size;) std::this_thread::yield();
  };
  expect_all_ok(run_threads(3, work, kPatient));
}

class GlooAlgorithms : public testing::TestWithParam<GlooAlgorithm> {};

TEST_P(GlooAlgorithms, all_reduce_every_type_in_every_memory) {
  ConformanceOptions what = kSomeTypes;
  what.kinds = {Collective::all_reduce};
  what.same_bits_everywhere = GetParam() != GlooAlgorithm::classic_ring;
  for (const int ranks : {2, GetParam() == GlooAlgorithm::classic_bcube ? 4 : 3})
    expect_all_ok(run_threads(ranks, conforms({.algorithm = GetParam()}, what), kPatient));
}

TEST_P(GlooAlgorithms, use_memory_again_that_they_know) {
  for (const bool check : {true, false}) {
    std::atomic<int> done = 0;
    expect_all_ok(run_threads(2, [&](const World& world) {
      const auto group = make_gloo(world, {.algorithm = GetParam(), .check = check});
      std::vector<float> data(1001, 1);
      for (std::uint64_t i = 0; i < 10; ++i) run_call(*group, all_reduce(bytes_of(data), DType::f32), i);
      EXPECT_EQ(data, std::vector<float>(1001, 1024));
      for (++done; !check && done < world.size;) std::this_thread::yield();
    }));
  }
}

// Rank 0 always uses one buffer, rank 1 another every time: who has prepared what differs.
TEST_P(GlooAlgorithms, agree_when_only_some_ranks_use_memory_again) {
  expect_all_ok(run_threads(2, [&](const World& world) {
    const auto group = make_gloo(world, {.algorithm = GetParam()});
    std::vector<std::vector<float>> buffers(6, std::vector<float>(777));
    for (std::uint64_t i = 0; i < 6; ++i) {
      auto& data = buffers[world.rank == 0 ? 0 : i];
      std::fill(data.begin(), data.end(), static_cast<float>(i + 1));
      run_call(*group, all_reduce(bytes_of(data), DType::f32), i);
      EXPECT_EQ(data, std::vector<float>(777, 2 * static_cast<float>(i + 1)));
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(Each, GlooAlgorithms,
                         testing::Values(GlooAlgorithm::ring, GlooAlgorithm::bcube,
                                         GlooAlgorithm::halving_doubling, GlooAlgorithm::ring_chunked,
                                         GlooAlgorithm::classic_ring, GlooAlgorithm::classic_bcube),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(GlooOptions, name_every_algorithm_and_refuse_others) {
  EXPECT_EQ(parse_gloo_algorithm("ring"), GlooAlgorithm::ring);
  EXPECT_EQ(parse_gloo_algorithm(name_of(GlooAlgorithm::ring_chunked)), GlooAlgorithm::ring_chunked);
  EXPECT_THROW(parse_gloo_algorithm("tree"), ConfigError);
  World three;
  three.size = 3;
  EXPECT_THROW(make_gloo(three), ConfigError);  // where is the store?
  EXPECT_THROW(make_gloo(three, {.algorithm = GlooAlgorithm::classic_bcube}), ConfigError);
}

TEST(Gloo, lets_nobody_leave_a_barrier_before_all_have_come) {
  for (const bool check : {true, false}) {
    std::atomic<int> came = 0;
    expect_all_ok(run_threads(3, [&](const World& world) {
      const auto group = make_gloo(world, {.check = check});
      for (std::uint64_t round = 1; round <= 20; ++round) {
        ++came;
        run_call(*group, barrier(), round);
        EXPECT_GE(came.load(), static_cast<int>(round) * world.size);
      }
    }));
  }
}

TEST(Gloo, shows_both_sides_to_ranks_that_disagree) {
  const std::function<Call(std::span<std::byte>)> others[] = {
      [](auto data) { return all_reduce(data.first(400), DType::f32); },
      [](auto data) { return all_reduce(data, DType::f64); },
      [](auto data) { return all_reduce(data, DType::f32, Reduction::max); },
      [](auto data) { return broadcast(data, DType::f32, 0); },
      [](auto) { return barrier(); },
      [](auto data) {
        Call call = all_reduce(data, DType::f32);
        call.tag = 7;
        return call;
      }};
  for (const auto& other : others) {
    const auto outcomes = run_threads(3, [&](const World& world) {
      const auto group = make_gloo(world);
      std::vector<std::byte> data(800);
      const Call usual = all_reduce(data, DType::f32);
      run_call(*group, usual, 0);
      run_call(*group, world.rank == 1 ? other(data) : usual, 1);
    });
    for (const auto& outcome : outcomes) {
      EXPECT_EQ(outcome.error, "Mismatch") << describe(outcome);
      EXPECT_THAT(outcome.text, HasSubstr("call 1: all_reduce of 800 bytes, f32, sum"));
      EXPECT_THAT(outcome.text, HasSubstr("rank 1 is in call 1"));
    }
  }
}

TEST(Gloo, goes_away_without_harm_to_ranks_that_are_not_done_yet) {
  for (int round = 0; round < 50; ++round)
    expect_all_ok(run_threads(2, [](const World& world) {
      const auto group = make_gloo(world);
      std::vector<float> data(100'000, 1);
      run_call(*group, broadcast(bytes_of(data), DType::f32, 0), 0);
    }));
}

// As every rank does that finds a file damaged, each when it has it.
TEST(Gloo, goes_away_without_harm_also_where_a_rank_throws_right_after_a_call) {
  for (int round = 0; round < 50; ++round)
    for (const auto& outcome : run_threads(3, [](const World& world) {
           const auto group = make_gloo(world);
           std::vector<float> data(100'000, 1);
           run_call(*group, broadcast(bytes_of(data), DType::f32, 0), 0);
           throw ConfigError("a damaged file");
         }))
      EXPECT_EQ(outcome.text, "a damaged file") << describe(outcome);
}

TEST(Gloo, lets_two_communicators_live_side_by_side) {
  expect_all_ok(run_threads(2, [](const World& world) {
    World second = world;
    second.name = "second";
    const auto a = make_gloo(world), b = make_gloo(second);
    std::vector<float> data = {1};
    run_call(*a, all_reduce(bytes_of(data), DType::f32), 0);
    run_call(*b, all_reduce(bytes_of(data), DType::f32), 0);
    EXPECT_EQ(data[0], 4);
  }));
}

}  // namespace
}  // namespace gradwire

#include "comm/gloo/gloo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error.h"
#include "comm/collectives_conformance.h"
#include "net/address/interface.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

void run_call(Collectives& group, const Call& call, std::uint64_t sequence) {
  group.run(call, check_call(call, group.size(), sequence));
}

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

// The victim makes three calls and is gone, or stands still, in the fourth, where the others are already.
RankFunction fall_out(Rank victim, std::size_t bytes, const std::function<void()>& how) {
  return [=](const World& world) {
    const auto group = make_gloo(world);
    std::vector<std::byte> data(bytes);
    for (std::uint64_t i = 0; i < 3; ++i) run_call(*group, all_reduce(data, DType::f32), i);
    if (world.rank == victim) how();
    for (std::uint64_t i = 3; i < 50; ++i) run_call(*group, all_reduce(data, DType::f32), i);
  };
}

void expect_all_others_lost(const std::vector<Outcome>& outcomes, Rank victim) {
  for (const auto& outcome : outcomes) {
    if (outcome.rank == victim) continue;
    EXPECT_EQ(outcome.error, "PeerLost") << describe(outcome);
    EXPECT_EQ(outcome.peer, victim) << describe(outcome);
  }
}

TEST(GlooFaults, name_a_killed_rank_to_all_others) {
  const auto die = [] { ::raise(SIGKILL); };
  for (const Rank victim : {0, 1, 2})
    for (const std::size_t bytes : {64, 8 << 20})
      expect_all_others_lost(run_processes(3, fall_out(victim, bytes, die)), victim);
}

TEST(GlooFaults, name_a_rank_that_throws_to_all_others) {
  const auto outcomes = run_threads(3, fall_out(1, 1000, [] { throw Error("enough"); }));
  EXPECT_EQ(outcomes[1].text, "enough");
  expect_all_others_lost(outcomes, 1);
}

TEST(GlooFaults, name_a_stopped_rank_when_time_is_up) {
  const auto outcomes = run_processes(3, fall_out(2, 8 << 20, [] { ::raise(SIGSTOP); }), {.timeout = 5});
  EXPECT_EQ(outcomes[2].kind, Outcome::Kind::stopped) << describe(outcomes[2]);
  for (const Rank rank : {0, 1}) {
    EXPECT_EQ(outcomes[rank].error, "Timeout") << describe(outcomes[rank]);
    EXPECT_THAT(outcomes[rank].text, HasSubstr("for rank 2"));
  }
}

TEST(GlooFaults, tell_all_when_one_rank_has_no_such_interface) {
  const auto outcomes = run_threads(3, [](World world) {
    if (world.rank == 1) world.interface = "no-such-interface";
    make_gloo(world);
  });
  EXPECT_EQ(outcomes[1].error, "ConfigError") << describe(outcomes[1]);
  for (const Rank rank : {0, 2}) {
    EXPECT_THAT(outcomes[rank].text, HasSubstr("rank 1")) << describe(outcomes[rank]);
    EXPECT_THAT(outcomes[rank].text, HasSubstr("no-such-interface"));
  }
}

TEST(GlooFaults, refuse_a_network_that_nobody_answers_for) {
  const auto interfaces = list_interfaces();
  const auto wide = std::ranges::find_if(
      interfaces, [](const Interface& one) { return one.up && !one.address.is_loopback(); });
  if (wide == interfaces.end()) GTEST_SKIP() << "this machine has no address beyond loopback";
  for (const bool trusted : {false, true}) {
    const auto outcomes = run_threads(2, [&](World world) {
      world.interface = wide->address.host();
      world.trusts_network = trusted;
      make_gloo(world);
    });
    if (trusted) {
      expect_all_ok(outcomes);
    } else {
      for (const auto& outcome : outcomes) EXPECT_THAT(outcome.text, HasSubstr("--trust-network"));
    }
  }
}

// Connections that close while others still wait for theirs look like a death.
TEST(GlooFaults, are_none_where_ranks_leave_as_soon_as_they_are_connected) {
  for (int trial = 0; trial < 20; ++trial)
    expect_all_ok(run_threads(3, [](const World& world) { make_gloo(world); }));
}

TEST(GlooFaults, name_a_rank_that_never_comes) {
  const auto outcomes = run_threads(3,
                                    [](const World& world) {
                                      if (world.rank != 1) make_gloo(world);
                                    },
                                    {.timeout = 5});
  for (const Rank rank : {0, 2}) {
    EXPECT_EQ(outcomes[rank].error, "Timeout") << describe(outcomes[rank]);
    EXPECT_THAT(outcomes[rank].text, HasSubstr("rank 1"));
  }
}

TEST(GlooFaults, fail_the_same_way_in_every_later_call) {
  const auto outcomes = run_threads(2, [](const World& world) {
    const auto group = make_gloo(world);
    std::vector<std::byte> data(world.rank == 0 ? 4 : 8);
    EXPECT_THROW(run_call(*group, all_reduce(data, DType::f32), 0), Mismatch);
    EXPECT_THROW(run_call(*group, barrier(), 1), Mismatch);
  });
  expect_all_ok(outcomes);
}

TEST(GlooFaults, let_a_call_be_cancelled_by_another_thread) {
  std::atomic<bool> other_waits = false;
  const auto outcomes = run_threads(2, [&](const World& world) {
    const auto group = make_gloo(world);
    run_call(*group, barrier(), 0);
    if (world.rank == 1) {  // never comes to the next call
      while (!other_waits) std::this_thread::yield();
      return;
    }
    std::jthread canceller([&] {
      group->cancel();
      other_waits = true;
    });
    run_call(*group, barrier(), 1);
  });
  EXPECT_EQ(outcomes[0].error, "Cancelled") << describe(outcomes[0]);
  EXPECT_TRUE(outcomes[1].ok()) << describe(outcomes[1]);
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

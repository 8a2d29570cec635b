#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error.h"
#include "comm/call_fixture.h"
#include "comm/gloo/gloo.h"
#include "net/address/interface.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace gradwire

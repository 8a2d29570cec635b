#include "comm/scheduled/scheduled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <random>

#include "base/error.h"
#include "comm/collectives_conformance.h"
#include "comm/scheduled/group.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using Data = std::vector<std::byte>;

class Scheduled : public testing::TestWithParam<Ground> {
 protected:
  using Work = std::function<void(Collectives&)>;

  // The deadline is only for hangs: sanitizers on a busy machine take their time.
  static std::vector<Outcome> run_group(int ranks, const ScheduledOptions& options, const Work& work) {
    return run_threads(ranks,
                       [&](const World& world) { work(*make_scheduled(GetParam().make(world), options)); },
                       {.deadline = 300, .timeout = 300});
  }

  static void expect_conformance(int ranks, const ScheduledOptions& options, const ConformanceOptions& what) {
    expect_all_ok(run_group(ranks, options, [&](Collectives& group) {
      EXPECT_THAT(check_collectives(group, what), testing::IsEmpty());
    }));
  }
};

INSTANTIATE_TEST_SUITE_P(On, Scheduled, testing::ValuesIn(grounds()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Scheduled, does_what_every_backend_must) { expect_conformance(2, {}, {.large_count = 400'003}); }

TEST_P(Scheduled, does_what_every_backend_must_in_other_worlds) {
  for (const int ranks : {1, 3, 5})
    expect_conformance(ranks, {}, {.dtypes = {DType::f32}, .counts = {0, 3, 17}, .large_count = 20'003});
}

TEST_P(Scheduled, does_it_with_every_algorithm_on_uneven_hosts) {
  for (int i = 0; i < kAlgorithms; ++i) {
    const Algorithm algorithm = static_cast<Algorithm>(i);
    ConformanceOptions what{.dtypes = {DType::f64}, .reductions = {Reduction::avg}, .counts = {0, 3}};
    what.large_count = 2003;
    for (int kind = 0; kind < kCollectives; ++kind)
      if (can(algorithm, static_cast<Collective>(kind))) what.kinds.push_back(static_cast<Collective>(kind));
    expect_conformance(6, {.hosts = {0, 0, 0, 1, 1, 2}, .algorithm = algorithm}, what);
  }
}

TEST_P(Scheduled, lets_nobody_leave_a_barrier_before_all_have_come) {
  for (const int ranks : {1, 2, 3, 5}) {
    std::atomic<int> came = 0;
    expect_all_ok(run_group(ranks, {}, [&](Collectives& group) {
      for (int round = 1; round <= 20; ++round) {
        ++came;
        run_call(group, barrier(), static_cast<std::uint64_t>(round));
        EXPECT_GE(came.load(), round * group.size());
      }
    }));
  }
}

// Random bits: numbers of all sizes, infinities, NaNs of all kinds, both zeros.
TEST_P(Scheduled, gives_the_same_bits_on_every_rank_with_every_algorithm) {
  constexpr int kRanks = 6;
  for (int i = 0; i < kAlgorithms; ++i) {
    std::vector<std::vector<Data>> results(kRanks);
    const ScheduledOptions options{.hosts = {0, 0, 0, 1, 1, 2}, .algorithm = static_cast<Algorithm>(i)};
    expect_all_ok(run_group(kRanks, options, [&](Collectives& group) {
      std::mt19937 random(static_cast<unsigned>(group.rank()));
      for (const DType type : {DType::f32, DType::bf16})
        for (const Reduction reduction : {Reduction::sum, Reduction::min, Reduction::product}) {
          Data data(6004);
          for (std::byte& byte : data) byte = static_cast<std::byte>(random());
          run_call(group, all_reduce(data, type, reduction));
          results[group.rank()].push_back(data);
        }
    }));
    for (const auto& result : results) EXPECT_EQ(result, results[0]) << name_of(static_cast<Algorithm>(i));
  }
}

TEST_P(Scheduled, appends_the_steps_of_each_call_to_the_trace) {
  std::vector<Trace> traces(2);
  expect_all_ok(run_threads(2, [&](const World& world) {
    const auto group = make_scheduled(GetParam().make(world), {.trace = &traces[world.rank]});
    Data data(400);
    run_call(*group, all_reduce(data, DType::f32));
    run_call(*group, all_reduce(data, DType::f32), 1);
  }));
  for (const Trace& trace : traces) {
    ASSERT_EQ(trace.events.size(), 6u);  // twice: a send, a receive and a sum
    for (const Event& event : trace.events) {
      EXPECT_EQ(event.bytes, 400u);
      EXPECT_LE(event.begin, event.end);
    }
    EXPECT_LE(trace.events[2].end, trace.events[3].begin);
  }
}

TEST_P(Scheduled, shows_both_sides_to_ranks_that_disagree) {
  const auto outcomes = run_group(2, {}, [](Collectives& group) {
    Data data(group.rank() == 0 ? 400 : 800);
    run_call(group, all_reduce(data, DType::f32), 7);
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "Mismatch");
    EXPECT_THAT(outcome.text, testing::HasSubstr("all_reduce of 400 bytes"));
    EXPECT_THAT(outcome.text, testing::HasSubstr("all_reduce of 800 bytes"));
  }
}

TEST_P(Scheduled, names_the_call_in_which_a_rank_was_lost) {
  std::latch first_call(3);  // who leaves earlier is lost in the first
  const auto outcomes = run_group(3, {}, [&](Collectives& group) {
    Data data(4000);
    run_call(group, all_reduce(data, DType::f32), 1);
    first_call.arrive_and_wait();
    if (group.rank() != 2) run_call(group, all_reduce(data, DType::f32), 2);
  });
  for (const Rank rank : {0, 1}) {
    EXPECT_EQ(outcomes[rank].error, "PeerLost") << describe(outcomes[rank]);
    EXPECT_THAT(outcomes[rank].text, testing::HasSubstr("in call 2: all_reduce of 4000 bytes"));
  }
  EXPECT_TRUE(outcomes[2].ok());
}

TEST_P(Scheduled, names_who_it_waited_for_when_the_time_is_up) {
  std::atomic<bool> given_up = false;
  const auto outcomes = run_group(2, {.timeout = 0.05}, [&](Collectives& group) {
    Data data(4);
    if (group.rank() == 0) {
      EXPECT_THROW(
          try { run_call(group, all_reduce(data, DType::f32), 3); } catch (const Timeout& timeout) {
            EXPECT_THAT(timeout.what(), testing::HasSubstr("rank 1"));
            EXPECT_THAT(timeout.what(), testing::HasSubstr("call 3"));
            throw;
          },
          Timeout);
      given_up = true;
      given_up.notify_all();
    }
    given_up.wait(false);
  });
  expect_all_ok(outcomes);
}

TEST_P(Scheduled, stops_waiting_when_it_is_cancelled) {
  const auto outcomes = run_group(2, {}, [&](Collectives& group) {
    if (group.rank() == 1) return run_call(group, barrier());
    group.cancel();
    run_call(group, barrier());
  });
  EXPECT_EQ(outcomes[0].error, "Cancelled");
}

TEST_P(Scheduled, wants_a_host_for_every_rank_or_for_none) {
  const auto outcomes = run_group(2, {.hosts = {0, 0, 1}}, [](Collectives&) {});
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error, "ConfigError");
}

}  // namespace
}  // namespace gradwire

#include "comm/scheduled/scheduled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "comm/scheduled/group.h"

namespace gradwire {
namespace {

constexpr int kWorlds[] = {1, 2, 3, 5};
constexpr std::size_t kCounts[] = {0, 1, 13, 5000};
// Large enough for rings, several pieces and a rest; odd so that chunks differ.
constexpr std::size_t kMany = 300'007;

class Scheduled : public testing::TestWithParam<Ground> {
 protected:
  static std::vector<Outcome> run_group(int ranks, const ScheduledOptions& options, const GroupWork& work) {
    return GetParam().run(ranks, options, work);
  }

  // Calls check(group, elements) on every rank, for worlds and counts of all kinds.
  template <typename F>
  static void for_all(const F& check) {
    for (const int world : kWorlds)
      expect_all_ok(run_group(world, {}, [&](Collectives& group) {
        for (const std::size_t count : kCounts) check(group, count);
        check(group, kMany);
      }));
  }
};

INSTANTIATE_TEST_SUITE_P(On, Scheduled, testing::ValuesIn(grounds()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Scheduled, reduces_in_place) {
  for_all([](Collectives& group, std::size_t count) {
    Data data = numbers(DType::f32, count, group.rank());
    run_call(group, all_reduce(data, DType::f32));
    EXPECT_EQ(data, combined_numbers(group.size(), DType::f32, Reduction::sum, count));
  });
}

TEST_P(Scheduled, reduces_from_one_buffer_into_another) {
  for_all([](Collectives& group, std::size_t count) {
    const Data in = numbers(DType::f32, count, group.rank());
    Data result(in.size());
    run_call(group, {.kind = Collective::all_reduce, .in = in, .out = result, .dtype = DType::f32});
    EXPECT_EQ(result, combined_numbers(group.size(), DType::f32, Reduction::sum, count));
    EXPECT_EQ(in, numbers(DType::f32, count, group.rank()));
  });
}

TEST_P(Scheduled, knows_every_type_and_reduction) {
  expect_all_ok(run_group(3, {}, [](Collectives& group) {
    for (int type = 0; type < kDTypes; ++type)
      for (int reduction = 0; reduction < kReductions; ++reduction)
        for (const std::size_t count : {1u, 777u, 100'003u}) {
          const DType dtype = static_cast<DType>(type);
          const Reduction how = static_cast<Reduction>(reduction);
          Data data = numbers(dtype, count, group.rank());
          run_call(group, all_reduce(data, dtype, how));
          EXPECT_EQ(data, combined_numbers(3, dtype, how, count)) << name_of(dtype) << " " << name_of(how);
        }
  }));
}

TEST_P(Scheduled, averages_once_whatever_the_algorithm) {
  for (int i = 0; i < kAlgorithms; ++i)
    expect_all_ok(run_group(5, {.algorithm = static_cast<Algorithm>(i)}, [](Collectives& group) {
      for (const std::size_t count : {3u, 40'000u}) {
        Data data = numbers(DType::f64, count, group.rank());
        run_call(group, all_reduce(data, DType::f64, Reduction::avg));
        EXPECT_EQ(data, combined_numbers(5, DType::f64, Reduction::avg, count));
      }
    }));
}

TEST_P(Scheduled, scatters_sums) {
  for_all([](Collectives& group, std::size_t count) {
    const std::size_t world = static_cast<std::size_t>(group.size());
    const Data in = numbers(DType::i32, count * world, group.rank());
    Data result(count * 4);
    run_call(group, reduce_scatter(in, result, DType::i32));
    const Data all = combined_numbers(group.size(), DType::i32, Reduction::sum, count * world);
    const auto mine = all.begin() + static_cast<std::ptrdiff_t>(count * 4) * group.rank();
    EXPECT_TRUE(std::equal(result.begin(), result.end(), mine));
    EXPECT_EQ(in, numbers(DType::i32, count * world, group.rank()));
  });
}

Data gathered_numbers(int ranks, std::size_t count) {
  Data all;
  for (Rank rank = 0; rank < ranks; ++rank) {
    const Data part = numbers(DType::f16, count, rank);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST_P(Scheduled, gathers) {
  for_all([](Collectives& group, std::size_t count) {
    const Data in = numbers(DType::f16, count, group.rank());
    Data result(in.size() * static_cast<std::size_t>(group.size()));
    run_call(group, all_gather(in, result, DType::f16));
    EXPECT_EQ(result, gathered_numbers(group.size(), count));
  });
}

TEST_P(Scheduled, gathers_in_place) {
  for_all([](Collectives& group, std::size_t count) {
    const Data in = numbers(DType::f16, count, group.rank());
    Data result(in.size() * static_cast<std::size_t>(group.size()));
    const std::span mine =
        std::span(result).subspan(in.size() * static_cast<std::size_t>(group.rank()), in.size());
    std::ranges::copy(in, mine.begin());
    run_call(group, all_gather(mine, result, DType::f16));
    EXPECT_EQ(result, gathered_numbers(group.size(), count));
  });
}

TEST_P(Scheduled, broadcasts_from_every_root) {
  for_all([](Collectives& group, std::size_t count) {
    for (Rank root = 0; root < group.size(); ++root) {
      Data data = numbers(DType::bf16, count, group.rank());
      run_call(group, broadcast(data, DType::bf16, root));
      EXPECT_EQ(data, numbers(DType::bf16, count, root));
    }
  });
}

TEST_P(Scheduled, reduces_to_every_root_and_leaves_the_others_their_data) {
  for_all([](Collectives& group, std::size_t count) {
    for (Rank root = 0; root < group.size(); ++root) {
      Data data = numbers(DType::i64, count, group.rank());
      run_call(group, reduce(data, DType::i64, Reduction::max, root));
      EXPECT_EQ(data, group.rank() == root ? combined_numbers(group.size(), DType::i64, Reduction::max, count)
                                           : numbers(DType::i64, count, group.rank()));
    }
  });
}

TEST_P(Scheduled, reduces_to_a_root_out_of_place_without_touching_any_other_rank) {
  expect_all_ok(run_group(3, {}, [](Collectives& group) {
    const Data in = numbers(DType::u8, 1000, group.rank());
    Data result(in.size(), std::byte{9});
    run_call(group, {.kind = Collective::reduce, .in = in, .out = result, .dtype = DType::u8, .root = 1});
    EXPECT_EQ(in, numbers(DType::u8, 1000, group.rank()));
    EXPECT_EQ(result, group.rank() == 1 ? combined_numbers(3, DType::u8, Reduction::sum, 1000)
                                        : Data(in.size(), std::byte{9}));
  }));
}

TEST_P(Scheduled, exchanges_parts_between_all) {
  for_all([](Collectives& group, std::size_t count) {
    const std::size_t world = static_cast<std::size_t>(group.size()), part = count * 8;
    const Data in = numbers(DType::f64, count * world, group.rank());
    Data result(in.size());
    run_call(group, all_to_all(in, result, DType::f64));
    for (Rank from = 0; from < group.size(); ++from) {
      const Data theirs = numbers(DType::f64, count * world, from);
      EXPECT_TRUE(std::equal(theirs.begin() + static_cast<std::ptrdiff_t>(part) * group.rank(),
                             theirs.begin() + static_cast<std::ptrdiff_t>(part) * (group.rank() + 1),
                             result.begin() + static_cast<std::ptrdiff_t>(part) * from));
    }
  });
}

TEST_P(Scheduled, lets_nobody_leave_a_barrier_before_all_have_come) {
  for (const int world : kWorlds) {
    std::atomic<int> came = 0;
    expect_all_ok(run_group(world, {}, [&](Collectives& group) {
      for (int round = 1; round <= 20; ++round) {
        ++came;
        run_call(group, barrier(), static_cast<std::uint64_t>(round));
        EXPECT_GE(came.load(), round * group.size());
      }
    }));
  }
}

TEST_P(Scheduled, works_at_any_alignment) {
  expect_all_ok(run_group(2, {}, [](Collectives& group) {
    for (const std::size_t shift : {1u, 3u, 7u}) {
      const Data in = numbers(DType::f32, 5000, group.rank());
      Data data(in.size() + shift);
      const std::span odd = std::span(data).subspan(shift);
      std::ranges::copy(in, odd.begin());
      run_call(group, all_reduce(odd, DType::f32));
      EXPECT_TRUE(std::ranges::equal(odd, combined_numbers(2, DType::f32, Reduction::sum, 5000)));
    }
  }));
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
          Data data(30'004);
          for (std::byte& byte : data) byte = static_cast<std::byte>(random());
          run_call(group, all_reduce(data, type, reduction));
          results[group.rank()].push_back(data);
        }
    }));
    for (const auto& result : results) EXPECT_EQ(result, results[0]) << name_of(static_cast<Algorithm>(i));
  }
}

TEST_P(Scheduled, remembers_no_more_than_it_should_of_many_different_calls) {
  expect_all_ok(run_group(2, {}, [](Collectives& group) {
    for (std::size_t count = 0; count < 300'000; count = count * 9 / 8 + 1)
      for (const Rank root : {0, 1}) {
        Data data = numbers(DType::f32, count, group.rank());
        run_call(group, reduce(data, DType::f32, Reduction::sum, root), count);
        run_call(group, broadcast(data, DType::f32, root), count);
        EXPECT_EQ(data, combined_numbers(2, DType::f32, Reduction::sum, count));
      }
  }));
}

TEST_P(Scheduled, appends_the_steps_of_each_call_to_the_trace) {
  std::vector<Trace> traces(2);
  expect_all_ok(run_threads(2, [&](const World& world) {
    const auto group = make_scheduled(GetParam().make(world), {.trace = &traces[world.rank]});
    Data data = numbers(DType::f32, 100, world.rank);
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
  const auto outcomes = run_group(3, {}, [](Collectives& group) {
    Data data(4000);
    run_call(group, all_reduce(data, DType::f32), 1);
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

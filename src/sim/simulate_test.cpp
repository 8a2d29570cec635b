#include "sim/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/algorithms.h"
#include "sched/choose.h"

namespace gradwire {
namespace {

constexpr Pipe kCable{12.5e9, 1e-6};  // 100 Gbit/s

template <typename F>
std::vector<Plan> plans_of(int world, F make) {
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < world; ++rank) plans.push_back(make_plan(make(rank)));
  return plans;
}

Seconds time_of(const std::vector<Plan>& plans, Bytes bytes, const CostModel& cost = {}) {
  const int world = static_cast<int>(plans.size());
  return simulate_time(plans, divide_evenly(plans[0].part.shape, bytes), star(world, kCable, pairs_of(plans)),
                       cost)
      .time;
}

TEST(Simulate, times_a_ring_as_the_formula_does) {
  for (const int world : {2, 3, 8, 16}) {
    const auto plans = plans_of(world, [&](Rank me) { return ring_all_reduce(me, world); });
    const Bytes bytes = 1680 * 1024 * 4;  // so that every world divides it
    // 2 (n - 1) rounds, each of two cables' latency and 1/n of the bytes.
    const double round = 2e-6 + static_cast<double>(bytes) / world / 12.5e9;
    EXPECT_NEAR(time_of(plans, bytes), 2 * (world - 1) * round, 1e-12) << world;
  }
}

TEST(Simulate, adds_the_sums_to_a_ring) {
  const int world = 4;
  const auto plans = plans_of(world, [&](Rank me) { return ring_all_reduce(me, world); });
  // 6 rounds of 2 us + 1 MB / 12.5 GB/s = 80 us; 3 of them with a sum of 1 us + 1 MB / 10 GB/s = 100 us.
  const CostModel cost{.per_step = 1e-6, .reduce_bytes_per_s = 10e9};
  EXPECT_NEAR(time_of(plans, 4'000'000, cost), 6 * 82e-6 + 3 * 101e-6, 1e-12);
}

TEST(Simulate, halves_and_doubles_in_logarithmically_many_rounds) {
  const int world = 8;
  const auto plans = plans_of(world, [&](Rank me) { return halving_doubling_all_reduce(me, world); });
  // A half, a quarter, an eighth of the bytes, and back: 2 (1 - 1/8) of them, and 6 latencies of 2 us.
  EXPECT_NEAR(time_of(plans, 8'000'000), 6 * 2e-6 + 2 * 7e6 / 12.5e9, 1e-12);
}

TEST(Simulate, shares_a_ranks_cable_among_its_peers) {
  const int world = 64;
  const auto plans = plans_of(world, [&](Rank me) { return direct_all_to_all(me, world); });
  // 63 messages of 1 MB at a time on every cable, each with 1/63 of it.
  const Simulated simulated = simulate_time(plans, divide_evenly(plans[0].part.shape, 64'000'000),
                                            star(world, kCable, all_pairs(world)));
  EXPECT_NEAR(simulated.time, 2e-6 + 63e6 / 12.5e9, 1e-12);
  EXPECT_EQ(simulated.messages, 64u * 63u);
}

TEST(Simulate, fills_a_chain_piece_by_piece) {
  const int world = 5, cut = 8;
  const auto plans = plans_of(world, [&](Rank me) { return chain_broadcast(me, world, 0, cut); });
  // The first of 8 pieces of 1 MB passes 4 hops of 2 + 80 us; 7 more follow, 80 us apart.
  EXPECT_NEAR(time_of(plans, 8'000'000), 4 * 82e-6 + 7 * 80e-6, 1e-12);
}

// What every rank must receive at least, however it is done, of `bytes` in the larger buffer.
double least_received(Collective kind, int world, double bytes) {
  const double others = static_cast<double>(world - 1) / world;
  switch (kind) {
    case Collective::all_reduce:
      return 2 * others * bytes;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
      return others * bytes;
    default:
      return world > 1 ? bytes : 0;  // one rank at least gets it all
  }
}

TEST(Simulate, runs_every_algorithm_and_none_faster_than_its_cables) {
  for (int kind = 0; kind < kScheduled; ++kind)
    for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
      const Problem problem{.kind = static_cast<Collective>(kind), .bytes = 1 << 20};
      if (problem.kind == Collective::barrier || !can(static_cast<Algorithm>(algorithm), problem.kind))
        continue;
      for (int world = 1; world <= 17; ++world) {
        Problem sized = problem;
        sized.world = world;
        const Choice choice{static_cast<Algorithm>(algorithm), 4};
        const auto plans = plans_of(world, [&](Rank me) { return make_part(choice, sized, me); });
        const double bytes = 4096.0 * 12252240;  // of which every world up to 17 has its part
        const Seconds least = least_received(problem.kind, world, bytes) / kCable.bytes_per_s;
        EXPECT_GE(time_of(plans, static_cast<Bytes>(bytes)), least * (1 - 1e-9))
            << name_of(problem.kind) << " by " << name_of(choice.algorithm) << " over " << world;
      }
    }
}

TEST(Simulate, gives_a_trace_of_every_step) {
  const int world = 4;
  const auto plans = plans_of(world, [&](Rank me) { return ring_all_reduce(me, world, 2); });
  const Trace trace =
      simulate(plans, divide_evenly(plans[0].part.shape, 1 << 20), star(world, kCable, ring_pairs(world)));
  std::size_t steps = 0;
  for (const Plan& plan : plans) steps += plan.part.program.size();
  EXPECT_EQ(trace.events.size(), steps);
  EXPECT_EQ(trace.source, "model");
  Seconds last = 0;
  for (const Event& event : trace.events) {
    EXPECT_LE(event.begin, event.end);
    EXPECT_GE(event.end, last);
    last = event.end;
  }
}

TEST(Simulate, finds_the_pairs_that_talk) {
  const auto plans = plans_of(3, [&](Rank me) { return ring_all_reduce(me, 3, 2); });
  EXPECT_EQ(pairs_of(plans), ring_pairs(3));
  const auto all = plans_of(3, [&](Rank me) { return direct_all_to_all(me, 3); });
  EXPECT_EQ(pairs_of(all), all_pairs(3));
}

TEST(Chunks, are_divided_as_a_real_collective_divides_them) {
  const Chunks chunks = divide_evenly({{3, 0, 1}}, 40);  // 10 elements: 3, 3 and 4
  EXPECT_EQ(chunks.bytes(out(0)), 12u);
  EXPECT_EQ(chunks.bytes(out(2)), 16u);
  EXPECT_EQ(chunks.bytes(scratch(0, 1, 2)), 28u);
}

}  // namespace
}  // namespace gradwire

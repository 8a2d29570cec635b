#include "sim/ring_estimate.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "sched/choose.h"
#include "sim/ring_recurrence.h"
#include "sim/simulate.h"

namespace gradwire {
namespace {

Seconds replay(const RingCall& call, const Network& network, const CostModel& cost) {
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < network.world(); ++rank)
    plans.push_back(make_plan(
        make_part({Algorithm::ring, call.cut}, {.kind = call.kind, .world = network.world()}, rank)));
  return simulate_time(plans, divide_evenly(plans[0].part.shape, call.bytes), network, cost).time;
}

double pick(std::mt19937& random, std::initializer_list<double> values) {
  return *(values.begin() + random() % values.size());
}

CostModel random_cost(std::mt19937& random) {
  return {.per_step = pick(random, {0, 1e-6}),
          .per_message = pick(random, {0, 3e-6}),
          .reduce_bytes_per_s = pick(random, {5e9, 1e12, std::numeric_limits<double>::infinity()}),
          .copy_bytes_per_s = pick(random, {1e7, 10e9}),
          .efficiency = pick(random, {1, 0.9})};
}

RingCall random_call(std::mt19937& random, int world) {
  const int cut = 1 + static_cast<int>(random() % 10);
  const Bytes chunk = 4 * (1 + random() % 100'000);
  const Bytes uneven = random() % 4 == 0 ? 4 * (random() % static_cast<unsigned>(world * cut)) : 0;
  constexpr Collective kKinds[] = {Collective::all_reduce, Collective::reduce_scatter,
                                   Collective::all_gather};
  return {chunk * static_cast<Bytes>(world * cut) + uneven, cut, kKinds[random() % 3]};
}

// Every hop has a pipe of its own, of any rate and latency.
Network unlike_hops(std::mt19937& random, int world) {
  Network network(world);
  for (const Pair pair : ring_pairs(world)) {
    const PipeId pipe =
        network.add_pipe({pick(random, {1e9, 2e9, 2.5e9, 10e9}), pick(random, {0, 1e-6, 7e-6, 1e-4})});
    network.add_way(pair, std::vector<PipeId>{pipe});
  }
  return network;
}

// Hops go over any of a few pipes, so that they share at random.
Network tangled(std::mt19937& random, int world) {
  Network network(world);
  const int pipes = 2 + static_cast<int>(random() % 5);
  for (int i = 0; i < pipes; ++i)
    network.add_pipe({pick(random, {1e9, 3e9, 10e9}), pick(random, {0, 1e-6, 2e-5})});
  for (const Pair pair : ring_pairs(world)) {
    std::vector<PipeId> route;
    for (int hop = 1 + static_cast<int>(random() % 3); hop > 0; --hop)
      route.push_back(static_cast<PipeId>(random() % static_cast<unsigned>(pipes)));
    network.add_way(pair, route);
  }
  return network;
}

// Nodes of `per_node` ranks with a fast link each, and one slow uplink and downlink a node.
Network nodes(int world, int per_node, Pipe inside, Pipe outside) {
  Network network(world);
  for (int i = 0; i < world; ++i) network.add_pipe(inside);
  for (int i = 0; i < 2 * (world / per_node); ++i) network.add_pipe(outside);
  for (const Pair pair : ring_pairs(world)) {
    const int node = pair.from / per_node, other = pair.to / per_node;
    if (node == other)
      network.add_way(pair, std::vector<PipeId>{pair.from});
    else
      network.add_way(pair, std::vector<PipeId>{pair.from, world + 2 * node, world + 2 * other + 1});
  }
  return network;
}

TEST(RingEstimate, is_the_formula_where_hops_are_alike) {
  // 1022 rounds of 2 us and 2 MiB / 12.5 GB/s: the 0.173507 s that SimGrid says (CM02, no TCP factors).
  const Network network = star(512, {12.5e9, 1e-6}, ring_pairs(512));
  const Estimate estimate = estimate_ring({1 << 30, 1}, network);
  EXPECT_TRUE(estimate.exact());
  EXPECT_NEAR(estimate.high, 1022 * (2e-6 + 2097152 / 12.5e9), 1e-12);
  EXPECT_NEAR(estimate.high, 0.173507, 5e-7);
}

TEST(RingEstimate, equals_the_replay_where_hops_dont_touch) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const int world = 2 + static_cast<int>(random() % 9);
    const Network network = unlike_hops(random, world);
    const CostModel cost = random_cost(random);
    RingCall call = random_call(random, world);
    call.bytes -= call.bytes % static_cast<Bytes>(4 * world * call.cut);
    const Estimate estimate = estimate_ring(call, network, cost);
    EXPECT_TRUE(estimate.exact());
    const Seconds replayed = replay(call, network, cost);
    EXPECT_NEAR(estimate.high, replayed, 1e-9 * replayed)
        << "round " << round << ", world " << world << ", cut " << call.cut << ", " << name_of(call.kind);
  }
}

TEST(RingEstimate, equals_the_replay_where_hops_are_alike_and_share) {
  std::mt19937 random(12);
  for (int round = 0; round < 200; ++round) {
    const int world = 2 + static_cast<int>(random() % 9), sharing = 1 + static_cast<int>(random() % 4);
    // Each pipe is shared by up to `sharing` hops; all have one latency; narrow ones carry as many as wide
    // ones where the world divides.
    Network network(world);
    for (int i = 0; i <= world / sharing; ++i) network.add_pipe({4e9, 1e-6});
    for (const Pair pair : ring_pairs(world)) network.add_way(pair, std::vector<PipeId>{pair.from / sharing});
    const CostModel cost = random_cost(random);
    const RingCall call = random_call(random, world);
    const Estimate estimate = estimate_ring(call, network, cost);
    const Seconds replayed = replay(call, network, cost);
    EXPECT_LE(estimate.low, replayed * (1 + 1e-9));
    EXPECT_GE(estimate.high, replayed * (1 - 1e-9));
    const bool even = call.bytes % static_cast<Bytes>(4 * world * call.cut) == 0;
    EXPECT_TRUE(estimate.exact() || !even || world % sharing != 0);
  }
}

TEST(RingEstimate, includes_the_replay_on_any_network) {
  std::mt19937 random(13);
  int exact = 0;
  for (int round = 0; round < 600; ++round) {
    const int world = 2 + static_cast<int>(random() % 8);
    const Network network = tangled(random, world);
    const CostModel cost = random_cost(random);
    const RingCall call = random_call(random, world);
    const Estimate estimate = estimate_ring(call, network, cost);
    const Seconds replayed = replay(call, network, cost);
    EXPECT_LE(estimate.low, replayed * (1 + 1e-9)) << "round " << round;
    EXPECT_GE(estimate.high, replayed * (1 - 1e-9)) << "round " << round;
    exact += estimate.exact();
  }
  EXPECT_GT(exact, 20);  // or the comparison says little
}

TEST(RingEstimate, equals_the_replay_of_nodes_that_repeat) {
  const Network network = nodes(24, 4, {100e9, 1e-6}, {10e9, 5e-6});
  for (const int cut : {1, 4, 7}) {
    const RingCall call{24 * 28 * 4096, cut};
    const Estimate estimate = estimate_ring(call, network);
    EXPECT_TRUE(estimate.exact());
    const Seconds replayed = replay(call, network, {});
    EXPECT_NEAR(estimate.high, replayed, 1e-9 * replayed);
  }
}

TEST(RingTime, replays_where_it_cannot_know) {
  // Two hops share a pipe, and one of them has farther to go: they fall out of step.
  Network network(3);
  network.add_pipe({1e9, 0});
  network.add_pipe({9e9, 1e-3});
  network.add_way({0, 1}, std::vector<PipeId>{0});
  network.add_way({1, 2}, std::vector<PipeId>{0, 1});
  network.add_way({2, 0}, std::vector<PipeId>{1});
  const RingCall call{3'000'000, 1};
  EXPECT_FALSE(estimate_ring(call, network).exact());
  const RingTime time = ring_time(call, network);
  EXPECT_TRUE(time.replayed);
  EXPECT_EQ(time.time, replay(call, network, {}));
  EXPECT_FALSE(ring_time(call, network, {}, 1.0).replayed);
}

TEST(RingTime, says_how_far_off_it_may_be_where_a_replay_would_take_too_long) {
  const int world = 4096;
  Network network(world);
  network.add_pipe({1e9, 0});
  network.add_pipe({9e9, 1e-5});
  for (const Pair pair : ring_pairs(world))
    network.add_way(pair, pair.from % 2 == 0 ? std::vector<PipeId>{0} : std::vector<PipeId>{0, 1});
  const RingTime time = ring_time({1 << 14, 1}, network);
  EXPECT_FALSE(time.replayed);
  EXPECT_GT(time.error, 1e-3);
}

TEST(RingTime, refuses_what_is_no_ring) {
  const Network network = star(4, {1e9, 0}, ring_pairs(4));
  EXPECT_THROW(ring_time({1024, 1, Collective::broadcast}, network), ConfigError);
  EXPECT_THROW(ring_time({1024, 0}, network), ConfigError);
}

TEST(RingTime, of_one_rank_is_its_copy_if_any) {
  const Network network(1);
  const CostModel cost{.copy_bytes_per_s = 1e9};
  for (const Collective kind : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    const RingCall call{1'000'000, 4, kind};
    EXPECT_NEAR(ring_time(call, network, cost).time, kind == Collective::all_reduce ? 0 : 1e-3, 1e-12);
    EXPECT_NEAR(replay(call, network, cost), ring_time(call, network, cost).time, 1e-12);
  }
}

TEST(RingRecurrence, knows_the_period_of_hops) {
  const Hop a{1, 2}, b{3, 4};
  EXPECT_EQ(period_of(std::vector{a, a, a, a}), 1u);
  EXPECT_EQ(period_of(std::vector{a, b, a, b}), 2u);
  EXPECT_EQ(period_of(std::vector{a, b, a}), 3u);
  EXPECT_EQ(period_of(std::vector{a, a, b, a, a, b}), 3u);
}

}  // namespace
}  // namespace gradwire

#include "sim/pipelined.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "sched/algorithms.h"
#include "sim/simulate.h"

namespace gradwire {
namespace {

using Maker = std::function<Part(Rank me, int world, int cut)>;

Pipelined call_of(int world, int cut, Bytes bytes, const Maker& make) {
  const auto parts = [=](int pieces) {
    std::vector<Part> made;
    for (Rank rank = 0; rank < world; ++rank) made.push_back(make(rank, world, pieces));
    return made;
  };
  return {parts, cut, bytes};
}

Seconds replay_pipelined(const Pipelined& call, const Network& network, const CostModel& cost) {
  const std::vector<Plan> plans = make_plans(call.parts(call.cut));
  return simulate_time(plans, divide_evenly(plans[0].part.shape, call.bytes), network, cost).time;
}

const std::vector<std::pair<const char*, Maker>> kMakers = {
    {"chain", [](Rank me, int world, int cut) { return chain_broadcast(me, world, 0, cut); }},
    {"double tree", [](Rank me, int world, int cut) { return double_tree_all_reduce(me, world, cut); }},
    {"binomial", [](Rank me, int world, int cut) { return binomial_all_reduce(me, world, cut); }},
    {"ring", [](Rank me, int world, int cut) { return ring_all_reduce(me, world, cut); }},
};

TEST(Pipelined, counts_the_rest_of_a_chain_once_it_is_full) {
  // 4 hops of 2 + 80 us for the first of 1000 pieces of 1 MB, and 999 more, 80 us apart.
  const Maker chain = kMakers[0].second;
  const PipelinedTime time =
      pipelined_time(call_of(5, 1000, 1'000'000'000, chain), star(5, {12.5e9, 1e-6}, ring_pairs(5)));
  EXPECT_EQ(time.error, 0);
  EXPECT_LE(time.replayed, 40);
  EXPECT_NEAR(time.time, 4 * 82e-6 + 999 * 80e-6, 1e-9);
}

TEST(Pipelined, replays_all_of_a_few) {
  const Pipelined call = call_of(4, 5, 5 << 20, kMakers[1].second);
  const Network network = star(4, {12.5e9, 1e-6}, all_pairs(4));
  const PipelinedTime time = pipelined_time(call, network);
  EXPECT_EQ(time.replayed, 5);
  EXPECT_EQ(time.error, 0);
  EXPECT_DOUBLE_EQ(time.time, replay_pipelined(call, network, {}));
}

Network random_star(std::mt19937& random, int world) {
  Network network(world);
  for (int i = 0; i < 2 * world; ++i)
    network.add_pipe(
        {1e9 * (1 + static_cast<double>(random() % 3)), 1e-6 * static_cast<double>(random() % 3)});
  for (const Pair pair : all_pairs(world))
    network.add_way(pair, std::vector<PipeId>{2 * pair.from, 2 * pair.to + 1});
  return network;
}

TEST(Pipelined, equals_the_replay_where_pieces_repeat_and_is_near_where_they_dont) {
  std::mt19937 random(21);
  int counted = 0, equal = 0;
  for (int round = 0; round < 120; ++round) {
    const auto& [name, make] = kMakers[random() % kMakers.size()];
    const int world = 2 + static_cast<int>(random() % 9), cut = 60 + static_cast<int>(random() % 100);
    const Network network = random_star(random, world);
    const CostModel cost{.per_message = 1e-6, .reduce_bytes_per_s = random() % 2 == 0 ? 3e9 : 1e11};
    const Bytes chunk = 4 * (1 + random() % 50'000);
    const Pipelined call =
        call_of(world, cut, chunk * static_cast<Bytes>(make(0, world, cut).shape.chunks[kOut]), make);
    const PipelinedTime time = pipelined_time(call, network, cost);
    const Seconds replayed = replay_pipelined(call, network, cost);
    EXPECT_NEAR(time.time, replayed, (time.error == 0 ? 2e-3 : 0.03) * replayed)
        << name << ", round " << round << ", world " << world << ", cut " << cut;
    counted += time.error == 0 && time.replayed < cut;
    equal += time.error == 0 && time.replayed < cut && std::abs(time.time - replayed) < 1e-9 * replayed;
  }
  EXPECT_GT(counted, 40);  // or the comparison says little
  EXPECT_GE(equal, counted * 95 / 100);
}

TEST(Pipelined, refuses_no_pieces) {
  EXPECT_THROW(pipelined_time(call_of(2, 0, 8, kMakers[0].second), star(2, {1e9, 0}, all_pairs(2))),
               ConfigError);
}

}  // namespace
}  // namespace gradwire

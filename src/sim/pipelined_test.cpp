#include "sim/pipelined.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "sched/hierarchical.h"
#include "sched/ring.h"
#include "sched/tree.h"
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

Seconds replay(const Pipelined& call, const Network& network, const CostModel& cost) {
  const std::vector<Plan> plans = make_plans(call.parts(call.cut));
  return simulate_time(plans, divide_evenly(plans[0].part.shape, call.bytes), network, cost).time;
}

const std::vector<std::pair<const char*, Maker>> kMakers = {
    {"chain", [](Rank me, int world, int cut) { return chain_broadcast(me, world, 0, cut); }},
    {"double tree", [](Rank me, int world, int cut) { return double_tree_all_reduce(me, world, cut); }},
    {"binomial", [](Rank me, int world, int cut) { return binomial_all_reduce(me, world, cut); }},
    {"ring", [](Rank me, int world, int cut) { return ring_all_reduce(me, world, cut); }},
};

TEST(Pipelined, CountsTheRestOfAChainOnceItIsFull) {
  // 4 hops of 2 + 80 us for the first of 1000 pieces of 1 MB, and 999 more, 80 us apart.
  const Maker chain = kMakers[0].second;
  const PipelinedTime time =
      pipelined_time(call_of(5, 1000, 1'000'000'000, chain), star(5, {12.5e9, 1e-6}, ring_pairs(5)));
  EXPECT_TRUE(time.steady);
  EXPECT_LT(time.replayed, 50);
  EXPECT_NEAR(time.time, 4 * 82e-6 + 999 * 80e-6, 1e-9);
}

TEST(Pipelined, EqualsTheReplayOfAllPiecesOnMostRandomStarsAndIsNearOnAll) {
  std::mt19937 random(21);
  int steady = 0, equal = 0;
  for (int round = 0; round < 100; ++round) {
    const auto& [name, make] = kMakers[random() % kMakers.size()];
    const int world = 2 + static_cast<int>(random() % 9), cut = 40 + static_cast<int>(random() % 60);
    Network network(world);
    for (int i = 0; i < 2 * world; ++i)
      network.add_pipe(
          {1e9 * (1 + static_cast<double>(random() % 3)), 1e-6 * static_cast<double>(random() % 3)});
    for (const Pair pair : all_pairs(world))
      network.add_way(pair, std::vector<PipeId>{2 * pair.from, 2 * pair.to + 1});
    const CostModel cost{.per_message = 1e-6, .reduce_bytes_per_s = random() % 2 == 0 ? 3e9 : 1e11};
    const Bytes piece = 4 * (1 + random() % 50'000);
    const Pipelined call =
        call_of(world, cut, piece * static_cast<Bytes>(cut * (make(0, world, 1).shape.chunks[kOut])), make);
    const PipelinedTime time = pipelined_time(call, network, cost);
    const Seconds replayed = replay(call, network, cost);
    equal += time.steady && std::abs(time.time - replayed) < 1e-9 * replayed;
    EXPECT_NEAR(time.time, replayed, 1e-4 * replayed)
        << name << ", round " << round << ", world " << world << ", cut " << cut;
    steady += time.steady;
  }
  EXPECT_GT(steady, 40);  // or the comparison says little
  EXPECT_GE(equal, steady * 9 / 10);
}

TEST(Pipelined, RefusesNoPieces) {
  EXPECT_THROW(pipelined_time(call_of(2, 0, 8, kMakers[0].second), star(2, {1e9, 0}, all_pairs(2))),
               ConfigError);
}

}  // namespace
}  // namespace gradwire

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "base/error.h"
#include "sim/sharing.h"

namespace gradwire {
namespace {

using testing::ElementsAre;
using PipeRoutes = std::vector<std::vector<PipeId>>;

std::vector<double> share(const std::vector<double>& pipes, const PipeRoutes& routes) {
  return fair_share(pipes, routes);
}

TEST(FairShare, gives_a_flow_alone_the_narrowest_of_its_pipes) {
  EXPECT_THAT(share({10, 4, 7}, {{0, 1, 2}}), ElementsAre(4));
}

TEST(FairShare, divides_a_pipe_evenly) {
  // 12 / 3 = 4.
  EXPECT_THAT(share({12}, {{0}, {0}, {0}}), ElementsAre(4, 4, 4));
}

TEST(FairShare, gives_to_others_what_a_flow_cannot_use) {
  // Flow 0 is held to 2 by pipe 1. Of pipe 0's 10 the others share 10 - 2 = 8: 4 each.
  EXPECT_THAT(share({10, 2}, {{0, 1}, {0}, {0}}), ElementsAre(2, 4, 4));
}

TEST(FairShare, settles_a_line_of_pipes_as_the_textbook_does) {
  // One long flow over two pipes of 1, a short one on each: every pipe has two flows, 1 / 2 each.
  EXPECT_THAT(share({1, 1}, {{0, 1}, {0}, {1}}), ElementsAre(0.5, 0.5, 0.5));
  // The second pipe of 2: the first still holds the long flow to 1/2, the second's short one has 2 - 1/2.
  EXPECT_THAT(share({1, 2}, {{0, 1}, {0}, {1}}), ElementsAre(0.5, 0.5, 1.5));
}

TEST(FairShare, works_out_three_levels) {
  // Pipe 0: 3 for flows a, b, c -> 1 each. Pipe 1: 5 for a, d, e -> (5 - 1) / 2 = 2 each.
  // Pipe 2: 9 for d, f -> 9 - 2 = 7.
  EXPECT_THAT(share({3, 5, 9}, {{0, 1}, {0}, {0}, {1, 2}, {1}, {2}}), ElementsAre(1, 1, 1, 2, 2, 7));
}

TEST(FairShare, counts_a_pipe_that_is_crossed_twice_twice) {
  // Through host memory and back over one bus of 12: the flow takes 2 units for each byte, the other 1:
  // 12 / 3 = 4 each, of which the first uses 8 and the second 4.
  EXPECT_THAT(share({12}, {{0, 0}, {0}}), ElementsAre(4, 4));
  EXPECT_THAT(share({12}, {{0, 0}}), ElementsAre(6));
}

TEST(FairShare, does_not_limit_a_flow_that_crosses_nothing) {
  EXPECT_THAT(share({1}, {{}, {0}}), ElementsAre(std::numeric_limits<double>::infinity(), 1));
}

TEST(FairShare, knows_flows_on_the_same_pipes_in_any_order) {
  EXPECT_THAT(share({6, 9}, {{0, 1}, {1, 0}, {1, 0}}), ElementsAre(2, 2, 2));
}

TEST(FairShare, refuses_a_pipe_without_a_rate) {
  EXPECT_THROW(share({0}, {{0}}), ConfigError);
  EXPECT_THROW(share({-1}, {{0}}), ConfigError);
  EXPECT_THROW(share({std::numeric_limits<double>::quiet_NaN()}, {{0}}), ConfigError);
  EXPECT_THROW(share({1}, {{1}}), ConfigError);
}

struct Crossing {
  std::vector<double> pipes;
  PipeRoutes routes;
};

Crossing random_crossing(std::mt19937& random) {
  Crossing made;
  const int pipes = 1 + static_cast<int>(random() % 8), flows = 1 + static_cast<int>(random() % 20);
  for (int i = 0; i < pipes; ++i) made.pipes.push_back(1 + static_cast<double>(random() % 20));
  for (int i = 0; i < flows; ++i) {
    made.routes.emplace_back();
    for (int hop = 1 + static_cast<int>(random() % 4); hop > 0; --hop)
      made.routes.back().push_back(static_cast<PipeId>(random() % static_cast<unsigned>(pipes)));
  }
  return made;
}

// What max-min fairness is: no pipe carries more than it can, and every flow has a full pipe on which nobody
// is faster. One such assignment exists, so this is all there is to check.
void expect_fair(const Crossing& made, const std::vector<double>& rates) {
  std::vector<double> used(made.pipes.size()), fastest(made.pipes.size());
  for (std::size_t f = 0; f < rates.size(); ++f)
    for (const PipeId pipe : made.routes[f]) {
      used[pipe] += rates[f];
      fastest[pipe] = std::max(fastest[pipe], rates[f]);
    }
  for (std::size_t p = 0; p < used.size(); ++p) EXPECT_LE(used[p], made.pipes[p] * (1 + 1e-9));
  for (std::size_t f = 0; f < rates.size(); ++f)
    EXPECT_TRUE(std::ranges::any_of(made.routes[f],
                                    [&](PipeId pipe) {
                                      return used[pipe] >= made.pipes[pipe] * (1 - 1e-9) &&
                                             rates[f] >= fastest[pipe] * (1 - 1e-9);
                                    }))
        << "flow " << f << " at " << rates[f];
}

TEST(FairShare, is_fair_on_random_networks) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const Crossing made = random_crossing(random);
    expect_fair(made, share(made.pipes, made.routes));
  }
}

TEST(Sharing, is_the_same_after_flows_came_and_went_as_from_the_start) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const Crossing made = random_crossing(random);
    Network network(static_cast<int>(made.routes.size()));
    for (const double rate : made.pipes) network.add_pipe({rate, 0});
    for (std::size_t f = 0; f < made.routes.size(); ++f)
      network.add_way({0, static_cast<Rank>(f)}, made.routes[f]);
    Sharing sharing(network);
    std::vector<bool> there(made.routes.size());
    for (int change = 0; change < 40; ++change) {
      const auto way = static_cast<WayId>(random() % there.size());
      there[way] ? sharing.end(way) : sharing.begin(way);
      there[way].flip();
      if (random() % 3 == 0) continue;  // several changes may be settled at once
      sharing.settle();
      PipeRoutes present;
      std::vector<double> rates;
      for (std::size_t f = 0; f < there.size(); ++f)
        if (there[f]) present.push_back(made.routes[f]), rates.push_back(sharing.rate(static_cast<WayId>(f)));
      expect_fair({made.pipes, present}, rates);
    }
  }
}

TEST(Sharing, names_only_the_ways_whose_rate_changed) {
  // Ways 0 and 1 share pipe 0; way 2 has pipe 1 for itself.
  Network network(3);
  network.add_pipe({8, 0});
  network.add_pipe({5, 0});
  for (Rank to = 0; to < 3; ++to) network.add_way({0, to}, std::vector<PipeId>{to == 2 ? 1 : 0});
  Sharing sharing(network);
  sharing.begin(0);
  sharing.begin(2);
  EXPECT_THAT(sharing.settle(), testing::UnorderedElementsAre(0, 2));
  sharing.begin(1);
  EXPECT_THAT(sharing.settle(), testing::UnorderedElementsAre(0, 1));
  EXPECT_EQ(sharing.rate(0), 4);
  sharing.end(0);
  EXPECT_THAT(sharing.settle(), testing::ElementsAre(1));
  EXPECT_EQ(sharing.rate(1), 8);
  EXPECT_EQ(sharing.rate(2), 5);
}

}  // namespace
}  // namespace gradwire

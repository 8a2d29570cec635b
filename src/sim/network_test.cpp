#include "sim/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Network, knows_the_way_of_a_pair_and_its_latency) {
  Network network(3);
  network.add_pipe({1e9, 1e-6});
  network.add_pipe({2e9, 5e-6});
  network.add_way({0, 2}, std::vector<PipeId>{0, 1, 0});
  EXPECT_THAT(network.route(network.way({0, 2})), ElementsAre(0, 1, 0));
  EXPECT_DOUBLE_EQ(network.latency(network.way({0, 2})), 7e-6);  // 1 + 5 + 1
  EXPECT_EQ(network.find_way({2, 0}), std::nullopt);
  EXPECT_THAT(
      [&] {
        network.way({2, 0});
      },
      ThrowsMessage<ConfigError>(HasSubstr("no way from rank 2 to rank 0")));
}

TEST(Network, refuses_what_cannot_be) {
  EXPECT_THROW(Network(0), ConfigError);
  Network network(2);
  EXPECT_THROW(network.add_pipe({0, 0}), ConfigError);
  EXPECT_THROW(network.add_pipe({std::numeric_limits<double>::infinity(), 0}), ConfigError);
  EXPECT_THROW(network.add_pipe({1, -1e-6}), ConfigError);
  EXPECT_THROW(network.add_way({0, 1}, std::vector<PipeId>{0}), ConfigError);
  EXPECT_THROW(network.add_way({0, 2}, {}), ConfigError);
  network.add_way({0, 1}, {});
  EXPECT_THROW(network.add_way({0, 1}, {}), ConfigError);
}

TEST(Network, makes_stars) {
  const Network network = star(4, {1e9, 1e-6}, all_pairs(4));
  EXPECT_EQ(network.ways(), 12);
  EXPECT_THAT(network.route(network.way({1, 3})), ElementsAre(2, 7));
  EXPECT_DOUBLE_EQ(network.latency(network.way({1, 3})), 2e-6);
}

TEST(Network, makes_fat_trees) {
  // 8 ranks in leaves of 4 with 2 spines: 16 pipes of cables, then up and down of leaf 0 to spines 0 and 1
  // (16..19), of leaf 1 (20..23).
  const Network network = fat_tree(8, {4, 2, {1e9, 1e-6}, {1e9, 1e-6}}, ring_pairs(8));
  EXPECT_EQ(network.ways(), 8);
  EXPECT_THAT(network.route(network.way({0, 1})), ElementsAre(0, 3));
  EXPECT_THAT(network.route(network.way({3, 4})), ElementsAre(6, 16, 21, 9));   // spine 4 mod 2 = 0
  EXPECT_THAT(network.route(network.way({7, 0})), ElementsAre(14, 20, 17, 1));  // spine 0
  EXPECT_EQ(network.pipes().size(), 24u);
}

}  // namespace
}  // namespace gradwire

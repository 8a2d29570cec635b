#include "train/pipeline/balance.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "base/error.h"

namespace gradwire {
namespace {

// Every cut there is, tried.
double least_by_trying(std::span<const double> costs, int stages) {
  const int layers = static_cast<int>(costs.size());
  std::vector<int> cut{0};
  double least = std::numeric_limits<double>::infinity();
  const std::function<void()> extend = [&] {
    const int left = stages - static_cast<int>(cut.size()) + 1;
    if (left == 1) {
      cut.push_back(layers);
      least = std::min(least, slowest_stage(costs, cut));
      cut.pop_back();
      return;
    }
    for (int next = cut.back() + 1; next <= layers - left + 1; ++next) {
      cut.push_back(next);
      extend();
      cut.pop_back();
    }
  };
  extend();
  return least;
}

TEST(BalancedCut, is_the_best_of_all_cuts) {
  std::mt19937 random(3);
  for (int layers = 1; layers <= 9; ++layers)
    for (int stages = 1; stages <= layers; ++stages)
      for (int round = 0; round < 5; ++round) {
        std::vector<double> costs;
        for (int i = 0; i < layers; ++i) costs.push_back(static_cast<double>(random() % 20));
        const auto cut = balanced_cut(costs, stages);
        ASSERT_EQ(cut.size(), static_cast<std::size_t>(stages) + 1);
        EXPECT_EQ(cut.front(), 0);
        EXPECT_EQ(cut.back(), layers);
        for (int stage = 0; stage < stages; ++stage) EXPECT_LT(cut[stage], cut[stage + 1]);
        EXPECT_DOUBLE_EQ(slowest_stage(costs, cut), least_by_trying(costs, stages));
      }
}

TEST(BalancedCut, stages_beside_the_slowest_are_even_too) {
  // The first layer decides; the other four are two and two, not one and three.
  EXPECT_EQ(balanced_cut(std::vector<double>{9, 1, 1, 1, 1}, 3), (std::vector<int>{0, 1, 3, 5}));
  EXPECT_EQ(balanced_cut(std::vector<double>{1, 1, 1, 1, 9}, 3), (std::vector<int>{0, 2, 4, 5}));
  EXPECT_EQ(balanced_cut(std::vector<double>(8, 0.1), 4), (std::vector<int>{0, 2, 4, 6, 8}));
}

TEST(BalancedCut, more_stages_than_layers_are_refused) {
  EXPECT_THROW(balanced_cut(std::vector<double>{1, 2}, 3), ConfigError);
  EXPECT_THROW(balanced_cut(std::vector<double>{1, 2}, 0), ConfigError);
}

}  // namespace
}  // namespace gradwire

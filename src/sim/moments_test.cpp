#include "sim/moments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"

namespace gradwire {
namespace {

std::vector<int> whats(const std::vector<Happening>& all) {
  std::vector<int> result;
  for (const Happening& happening : all) result.push_back(happening.what);
  return result;
}

TEST(Moments, are_taken_in_order_of_time_and_together_when_equal) {
  Moments moments;
  std::vector<Happening> all;
  moments.add(2, {0, 20, 0});
  moments.add(1, {0, 10, 0});
  moments.add(2, {0, 21, 0});
  EXPECT_EQ(moments.size(), 3u);
  EXPECT_EQ(moments.take(all), 1);
  EXPECT_THAT(whats(all), testing::ElementsAre(10));
  EXPECT_EQ(moments.take(all), 2);
  EXPECT_THAT(whats(all), testing::ElementsAre(20, 21));
  EXPECT_TRUE(moments.empty());
  EXPECT_THROW(moments.take(all), Error);
}

TEST(Moments, take_times_that_differ_by_rounding_for_one) {
  Moments moments;
  std::vector<Happening> all;
  moments.add(0.1 + 0.2, {0, 1, 0});  // not 0.3 but the next number
  moments.add(0.3, {0, 2, 0});
  EXPECT_EQ(moments.take(all), 0.3);
  EXPECT_THAT(whats(all), testing::UnorderedElementsAre(1, 2));
}

TEST(Moments, forget_what_is_no_longer_wanted) {
  Moments moments;
  std::vector<Happening> all;
  for (int i = 0; i < 100; ++i) moments.add(i / 3, {0, i, 0});
  moments.drop_if([](const Happening& happening) { return happening.what % 2 == 1 || happening.what < 10; });
  EXPECT_EQ(moments.size(), 45u);
  moments.add(3, {0, 1000, 0});
  EXPECT_EQ(moments.take(all), 3);
  EXPECT_THAT(whats(all), testing::ElementsAre(10, 1000));
  std::vector<int> rest;
  while (!moments.empty()) {
    moments.take(all);
    std::ranges::copy(whats(all), std::back_inserter(rest));
  }
  EXPECT_EQ(rest.size(), 44u);
  EXPECT_TRUE(std::ranges::is_sorted(rest));
}

TEST(Moments, keep_random_times_in_order) {
  std::mt19937 random(3);
  Moments moments;
  std::vector<Happening> all;
  std::size_t added = 0, taken = 0;
  double now = 0;
  for (int round = 0; round < 2000; ++round) {
    for (unsigned i = random() % 4; i > 0; --i, ++added)
      moments.add(now + static_cast<double>(random() % 7), {0, static_cast<int>(added), 0});
    if (moments.empty()) continue;
    const double time = moments.take(all);
    EXPECT_GE(time, now);
    now = time;
    taken += all.size();
  }
  EXPECT_EQ(added, taken + moments.size());
}

}  // namespace
}  // namespace gradwire

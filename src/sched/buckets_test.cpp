#include "sched/buckets.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr BucketCaps kSmall{.first = 10, .rest = 100};

std::vector<std::vector<int>> members(const std::vector<Bucket>& buckets) {
  std::vector<std::vector<int>> result;
  for (const auto& bucket : buckets) result.push_back(bucket.members);
  return result;
}

using Members = std::vector<std::vector<int>>;

TEST(Buckets, take_gradients_in_reverse_registration_order) {
  const std::vector<BucketItem> items{{60}, {40}, {50}, {4}, {6}};
  EXPECT_EQ(members(assign_buckets(items, kSmall)), (Members{{4, 3}, {2, 1, 0}}));
}

TEST(Buckets, close_when_they_reach_or_pass_their_cap) {
  const std::vector<BucketItem> items{{9}, {200}, {99}, {1}, {10}};
  const auto buckets = assign_buckets(items, kSmall);
  EXPECT_EQ(members(buckets), (Members{{4}, {3, 2}, {1}, {0}}));
  EXPECT_EQ(buckets[1].bytes, 100u);
}

TEST(Buckets, are_one_mebibyte_and_then_25_by_default) {
  const std::vector<BucketItem> items(60, BucketItem{Bytes{1} << 20});
  const auto buckets = assign_buckets(items);
  ASSERT_EQ(buckets.size(), 4u);
  EXPECT_EQ(buckets[0].members.size(), 1u);
  EXPECT_EQ(buckets[1].members.size(), 25u);
  EXPECT_EQ(buckets[3].members.size(), 9u);
}

TEST(Buckets, keep_kinds_apart_and_give_each_a_small_first_bucket) {
  const std::vector<BucketItem> items{{12, 1}, {5, 0}, {12, 1}, {12, 0}};
  EXPECT_EQ(members(assign_buckets(items, kSmall)), (Members{{3}, {2}, {1}, {0}}));
}

TEST(Buckets, come_in_the_order_in_which_they_become_ready) {
  // The bucket of kind 0 opens first and closes last.
  const std::vector<BucketItem> items{{1, 0}, {20, 1}, {1, 0}};
  EXPECT_EQ(members(assign_buckets(items, kSmall)), (Members{{1}, {2, 0}}));
}

TEST(Buckets, follow_an_observed_order_and_leave_out_what_it_leaves_out) {
  const std::vector<BucketItem> items{{10}, {10}, {10}};
  EXPECT_EQ(members(assign_buckets(items, std::vector<int>{1, 0}, kSmall)), (Members{{1}, {0}}));
}

TEST(Buckets, of_nothing_are_none) { EXPECT_TRUE(assign_buckets({}, kSmall).empty()); }

TEST(Buckets, hold_a_gradient_of_no_bytes) {
  EXPECT_EQ(members(assign_buckets(std::vector<BucketItem>{{0}}, kSmall)), (Members{{0}}));
}

TEST(Buckets, refuse_an_order_that_is_none) {
  const std::vector<BucketItem> items{{10}, {10}};
  EXPECT_THROW(assign_buckets(items, std::vector<int>{0, 2}), ConfigError);
  EXPECT_THROW(assign_buckets(items, std::vector<int>{0, 0}), ConfigError);
}

}  // namespace
}  // namespace gradwire

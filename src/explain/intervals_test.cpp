#include "explain/intervals.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(Intervals, unite_what_touches_or_overlaps_and_drop_what_is_empty) {
  EXPECT_EQ(united({{5, 7}, {0, 2}, {2, 3}, {6, 9}, {4, 4}, {9, 8}}), (Intervals{{0, 3}, {5, 9}}));
}

TEST(Intervals, have_in_common_what_both_hold) {
  EXPECT_EQ(common({{0, 4}, {6, 9}}, {{1, 2}, {3, 7}, {8, 20}}), (Intervals{{1, 2}, {3, 4}, {6, 7}, {8, 9}}));
}

TEST(Intervals, without_others_are_what_is_left) {
  EXPECT_EQ(without({{0, 10}, {20, 30}}, {{-5, 1}, {3, 4}, {8, 22}, {29, 40}}),
            (Intervals{{1, 3}, {4, 8}, {22, 29}}));
  EXPECT_EQ(without({{0, 10}}, {}), (Intervals{{0, 10}}));
}

TEST(Intervals, are_cut_to_a_window_and_measured) {
  const Intervals set{{0, 3}, {5, 9}, {12, 15}};
  EXPECT_EQ(within(set, {2, 13}), (Intervals{{2, 3}, {5, 9}, {12, 13}}));
  EXPECT_EQ(length(set), 10);
  EXPECT_TRUE(contains(set, 5));
  EXPECT_FALSE(contains(set, 9));
  EXPECT_FALSE(contains(set, -1));
}

}  // namespace
}  // namespace gradwire

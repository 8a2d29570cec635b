#include "sched/unit_slots.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(UnitSlots, gives_the_slot_of_what_was_used_longest_ago) {
  UnitSlots slots(2);
  EXPECT_EQ(slots.take(0, {}).leaves, -1);
  EXPECT_EQ(slots.take(1, {}).leaves, -1);
  slots.touch(0);
  EXPECT_EQ(slots.take(2, {}).leaves, 1);
  EXPECT_FALSE(slots.find(1));
  EXPECT_EQ(slots.take(3, std::vector<int>{0}).leaves, 2);
  EXPECT_EQ(slots.count(), 2);
}

TEST(UnitSlots, grow_where_every_unit_is_needed_at_once) {
  UnitSlots slots(2);
  slots.take(0, {}), slots.take(1, {});
  const auto place = slots.take(2, std::vector<int>{0, 1, 2});
  EXPECT_EQ(place.slot, 2);
  EXPECT_EQ(place.leaves, -1);
}

TEST(UnitSlots, take_a_unit_where_they_are_told_to) {
  UnitSlots slots(1);
  EXPECT_EQ(slots.put(7, 0), -1);
  EXPECT_EQ(slots.put(8, 0), 7);
  EXPECT_EQ(slots.put(9, 2), -1);
  EXPECT_EQ(slots.count(), 3);
  EXPECT_EQ(slots.find(9), 2);
}

}  // namespace
}  // namespace gradwire

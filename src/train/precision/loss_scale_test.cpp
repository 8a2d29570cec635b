#include "train/precision/loss_scale.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

TEST(LossScale, falls_by_half_at_each_overflow) {
  LossScale scale;
  scale.update(true);
  scale.update(true);
  EXPECT_EQ(scale.value(), 16384);
  EXPECT_EQ(scale.skipped(), 2);
}

TEST(LossScale, grows_after_so_many_good_steps_in_a_row) {
  LossScale scale({.initial = 8, .growth_interval = 3});
  for (const bool overflowed : {false, false, true, false, false}) scale.update(overflowed);
  EXPECT_EQ(scale.value(), 4);
  EXPECT_EQ(scale.good_steps(), 2);
  scale.update(false);
  EXPECT_EQ(scale.value(), 8);
  EXPECT_EQ(scale.good_steps(), 0);
}

TEST(LossScale, stays_within_float32) {
  LossScale scale({.initial = 1, .growth_interval = 1});
  for (int i = 0; i < 200; ++i) scale.update(false);
  EXPECT_EQ(scale.value(), 0x1p127);
}

TEST(LossScale, goes_on_where_it_was) {
  LossScale scale({.growth_interval = 5});
  scale.restore(1024, 4);
  scale.update(false);
  EXPECT_EQ(scale.value(), 2048);
}

TEST(LossScale, refuses_numbers_that_make_no_sense) {
  EXPECT_THROW(LossScale({.initial = 0}), ConfigError);
  EXPECT_THROW(LossScale({.growth = 1}), ConfigError);
  EXPECT_THROW(LossScale({.backoff = 1}), ConfigError);
  EXPECT_THROW(LossScale({.growth_interval = 0}), ConfigError);
  LossScale scale;
  EXPECT_THROW(scale.restore(-1, 0), ConfigError);
}

}  // namespace
}  // namespace gradwire

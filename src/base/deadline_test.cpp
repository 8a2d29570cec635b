#include "base/deadline.h"

#include <gtest/gtest.h>

#include <limits>

namespace gradwire {
namespace {

TEST(Deadline, of_no_time_has_passed) {
  for (const Seconds seconds : {0.0, -1.0, -std::numeric_limits<Seconds>::infinity()}) {
    const Deadline deadline = Deadline::after(seconds);
    EXPECT_TRUE(deadline.passed());
    EXPECT_EQ(deadline.remaining(), 0);
  }
}

TEST(Deadline, in_an_hour_has_not_passed) {
  const Deadline deadline = Deadline::after(3600);
  EXPECT_FALSE(deadline.passed());
  EXPECT_LE(deadline.remaining(), 3600);
  EXPECT_GT(deadline.remaining(), 3000);
}

TEST(Deadline, may_be_never) {
  const Deadline deadline = Deadline::after(std::numeric_limits<Seconds>::infinity());
  EXPECT_FALSE(deadline.passed());
  EXPECT_GT(deadline.time_point(), Deadline::after(1e9).time_point());
  EXPECT_GT(deadline.remaining_ms(), 0);
}

TEST(Deadline, rounds_milliseconds_up_so_that_a_poll_does_not_end_before_it) {
  EXPECT_GE(Deadline::after(1e-9).remaining_ms(), 1);
  EXPECT_GE(Deadline::after(0).remaining_ms(), 0);
}

TEST(Deadline, fits_what_poll_takes_however_far_it_is) {
  EXPECT_EQ(Deadline::after(3e9).remaining_ms(), 1'000'000'000);
}

}  // namespace
}  // namespace gradwire

// Tests of which one passes, and the others do what forked_main.cpp must live through.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace {

int seen = 0;

TEST(Sample, passes) { EXPECT_EQ(++seen, 1); }
TEST(Sample, sees_nothing_of_another) { EXPECT_EQ(++seen, 1); }
TEST(Sample, fails) { FAIL() << "as it should"; }
TEST(Sample, crashes) { std::abort(); }
TEST(Sample, hangs) { ::pause(); }
TEST(Sample, is_skipped) { GTEST_SKIP() << "for want of something"; }
TEST(Sample, is_left_out) { FAIL(); }

}  // namespace

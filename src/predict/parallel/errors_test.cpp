// Means and medians of errors that count more or less.
#include "predict/parallel/errors.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gradwire {
namespace {

TEST(Quantile, of_errors_that_count_alike_is_the_usual_one) {
  EXPECT_DOUBLE_EQ(quantile_of({{0.3}, {-0.1}, {0.2}}, 0.5), 0.2);
  EXPECT_DOUBLE_EQ(quantile_of({{0.3}, {-0.1}, {0.2}, {0.4}}, 0.5), 0.25);
  EXPECT_DOUBLE_EQ(quantile_of({{0.3}}, 0.9), 0.3);
  EXPECT_EQ(quantile_of({}, 0.5), 0);
}

TEST(Quantile, has_half_of_the_weight_below_it) {
  EXPECT_DOUBLE_EQ(quantile_of({{0.1, 0.25}, {0.2, 0.25}, {0.3, 1}}, 0.5), 0.3);
  EXPECT_DOUBLE_EQ(quantile_of({{0.1, 1.0 / 3}, {0.2, 1.0 / 3}, {0.3, 1.0 / 3}, {0.4, 1}}, 0.5), 0.35);
}

// One run with two others to be given, 10 and 50 % off, and one with one other, 20 % off. Each run counts once: the mean is
// (30 + 20) / 2. Half of the weight lies below 20 %, which is the median; that of the runs' means would be 25.
TEST(ErrorsOfSteps, with_any_other_given_count_every_other_and_each_run_once) {
  ParallelCase run;
  run.measured = 1;
  ParallelValidation result;
  ParallelPoint two;
  two.run = &run, two.alone = two.alone_floor = 1;
  auto one = two;
  two.others = {{&run, 1.1, 1.3}, {&run, 0.5, 1.5}};
  one.others = {{&run, 1.2, 1.4}};
  result.points = {two, one};
  const auto lines = summarize(result);
  const auto any =
      std::ranges::find_if(lines, [](const auto& line) { return line.part.given == GivenRun::any_other; });
  ASSERT_NE(any, lines.end());
  EXPECT_EQ(any->count, 2);
  EXPECT_DOUBLE_EQ(any->mean, 0.25);
  EXPECT_DOUBLE_EQ(any->median, 0.2);
  EXPECT_DOUBLE_EQ(any->floor, 0.4);
}

}  // namespace
}  // namespace gradwire

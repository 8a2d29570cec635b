#include "predict/validation/summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gradwire {
namespace {

TEST(Doubts, of_an_odd_record_are_its_note_and_what_arithmetic_shows) {
  Record record;
  record.id = "a";
  record.training.emplace();
  auto& values = record.training->values;
  values.resize(2);
  values[0].anchor = true;
  values[0].samples_per_s = 10;
  values[1].gpus = 2;
  values[1].samples_per_s = 23;
  EXPECT_FALSE(find_doubt(record, {})) << "it counts";
  record.quality = Quality::odd;
  std::vector<ValidationPoint> points(2);
  points[0].id = "a", points[0].point = "8 bytes", points[0].measured = 20, points[0].predicted = 10;
  points[1].id = "other", points[1].measured = 1, points[1].predicted = 9;
  const auto doubt = find_doubt(record, points);
  ASSERT_TRUE(doubt && doubt->above_linear && doubt->far_off);
  EXPECT_EQ(doubt->above_linear->gpus, 2);
  EXPECT_DOUBLE_EQ(doubt->above_linear->share, 1.15);
  EXPECT_EQ(doubt->far_off->point, "8 bytes");
  record.notes = "slow disk";
  record.training.reset();
  const auto noted = find_doubt(record, {});
  EXPECT_EQ(noted->note, "slow disk");
  EXPECT_FALSE(noted->remark || noted->above_linear || noted->far_off);
}

TEST(Summary, holds_no_point_without_a_finite_prediction) {
  std::vector<ValidationPoint> points(4);
  for (ValidationPoint& point : points) point.id = "a", point.measured = point.predicted = 10;
  points[1].predicted = std::nan("");
  points[2].predicted = HUGE_VAL;
  points[3].predicted = 0;
  std::vector<Skipped> skipped;
  drop_unpredicted(points, skipped);
  EXPECT_EQ(points.size(), 1u);
  EXPECT_EQ(skipped.size(), 3u);
}

TEST(Summary, counts_by_hand) {
  std::vector<ValidationPoint> points(4);
  for (std::size_t i = 0; i < 4; ++i)
    points[i].measured = 10, points[i].predicted = 10 + static_cast<double>(i);
  points[3].predicted = 5;  // errors 0, .1, .2, -.5
  const ErrorSummary summary = summarize(points);
  EXPECT_EQ(summary.count, 4);
  EXPECT_DOUBLE_EQ(summary.mean_abs_error, 0.2);
  EXPECT_DOUBLE_EQ(summary.median_abs_error, 0.15);
  EXPECT_DOUBLE_EQ(summary.p90_abs_error, 0.5);
  EXPECT_DOUBLE_EQ(summary.bias, -0.05);
  EXPECT_EQ(worst_first(points)[0].predicted, 5);
}

}  // namespace
}  // namespace gradwire

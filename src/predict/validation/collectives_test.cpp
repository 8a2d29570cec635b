// Cross-validation over the measured sweeps the project carries: the figures docs/accuracy.md reports must
// stay true.
#include "predict/validation/collectives.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "predict/records/read.h"
#include "predict/validation/summary.h"

namespace gradwire {
namespace {

const std::vector<PreparedRecord>& known() {
  static const std::vector<PreparedRecord> all = prepare(built_in_records());
  return all;
}

ErrorSummary of_size(const std::vector<ValidationPoint>& points, bool large) {
  return summarize(points_where(points, [&](const auto& p) { return counts(p) && is_large(p) == large; }));
}

TEST(AllReduceAccuracy, on_platforms_it_never_saw_is_what_the_documents_say) {
  const auto points = cross_validate(known(), known());
  const ErrorSummary large = of_size(points, true), small = of_size(points, false);
  fmt::print("from 1 MB: {:.1f} % of {} points (bytes / link rate: {:.1f} %); below: {:.1f} % of {}\n",
             100 * large.mean_abs_error, large.count, 100 * large.alpha_beta_error,
             100 * small.mean_abs_error, small.count);
  EXPECT_GT(large.count, 700);
  EXPECT_LT(large.mean_abs_error, 0.145);
  EXPECT_LT(large.median_abs_error, 0.10);
  EXPECT_LT(small.mean_abs_error, 0.20);
  EXPECT_LT(large.mean_abs_error, large.alpha_beta_error / 2);
}

// What a machine that resembles none of the built-in ones may expect: no constant has seen these.
TEST(AllReduceAccuracy, on_records_that_no_fit_has_seen_is_what_the_documents_say) {
  const auto later = prepare(read_records(GRADWIRE_SOURCE_DIR "/presets/measured/collectives_later.jsonl"));
  for (const PreparedRecord& one : later)
    for (const Record& record : built_in_records()) ASSERT_NE(record.platform, one.record.platform);
  const auto points = cross_validate(later, known());
  const ErrorSummary large = of_size(points, true), small = of_size(points, false);
  fmt::print("found later, from 1 MB: {:.1f} % of {} points, {:.0f} % in range; below: {:.1f} % of {}\n",
             100 * large.mean_abs_error, large.count, 100 * large.inside, 100 * small.mean_abs_error,
             small.count);
  EXPECT_EQ(large.count, 170);
  EXPECT_LT(large.mean_abs_error, 0.26);
  EXPECT_LT(large.mean_abs_error, large.alpha_beta_error / 2);
  EXPECT_LT(small.mean_abs_error, 0.40);
}

TEST(AllReduceAccuracy, holds_on_kinds_of_machines_and_generations_of_gpus_it_never_saw) {
  EXPECT_LT(of_size(cross_validate(known(), known(), LeaveOut::kind), true).mean_abs_error, 0.155);
  EXPECT_LT(of_size(cross_validate(known(), known(), LeaveOut::generation), true).mean_abs_error, 0.18);
}

TEST(AllReduceAccuracy, eight_of_ten_measurements_lie_in_their_range_in_every_class) {
  std::map<std::string, std::vector<ValidationPoint>> by_class;
  for (const auto& point : cross_validate(known(), known()))
    if (counts(point) && is_large(point)) by_class[point.scope].push_back(point);
  EXPECT_EQ(by_class.size(), 7u);
  for (const auto& [scope, points] : by_class) {
    EXPECT_GT(summarize(points).inside, 0.75) << scope;
    EXPECT_LT(summarize(points).inside, 0.88) << scope;
  }
  for (const char* slow : {"pcie", "host memory"})
    EXPECT_LT(summarize(by_class.at(slow)).mean_abs_error, 0.21) << slow;
}

TEST(AllReduceAccuracy, holds_also_when_whole_experiments_are_left_out) {
  EXPECT_LT(of_size(cross_validate(known(), known(), LeaveOut::group), true).mean_abs_error, 0.16);
}

TEST(AllReduceAccuracy, with_a_platforms_own_sweep_given_is_within_eight_percent) {
  const auto points = validate_with_own_sweep(known(), known());
  EXPECT_LT(of_size(points, true).mean_abs_error, 0.08);
  EXPECT_LT(of_size(points, false).mean_abs_error, 0.10);
}

TEST(AllReduceAccuracy, a_row_of_a_long_sweep_is_predicted_without_it) {
  PreparedRecord one = known().front();
  one.record.platform = one.record.group = "of the user";
  auto& rows = one.record.collective->rows;
  rows.clear();
  for (int i = 0; i < 70; ++i) rows.push_back({Bytes{1000000} * (i + 1), 1e-4 * (i + 1), false});
  const auto before = validate_with_own_sweep({&one, 1}, known());
  ASSERT_EQ(before.size(), 70u);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].bytes, rows[i].bytes);
  rows[40].time *= 3;
  const auto after = validate_with_own_sweep({&one, 1}, known());
  EXPECT_EQ(after[40].predicted, before[40].predicted);
  EXPECT_NE(after[41].predicted, before[41].predicted);
}

TEST(AllReduceAccuracy, the_prediction_of_a_platform_does_not_depend_on_its_own_times) {
  auto changed = known();
  for (PreparedRecord& one : changed)
    if (one.record.platform == "hgx-h100")
      for (MeasuredTime& row : one.record.collective->rows) row.time *= 7;
  const Calibration before = CalibrationsWithout(known()).of("hgx-h100");
  const Calibration after = CalibrationsWithout(changed).of("hgx-h100");
  EXPECT_EQ(calibration_yaml(before), calibration_yaml(after));
}

TEST(AllReduceAccuracy, the_shipped_calibration_is_the_one_the_records_give) {
  const Calibration fitted = calibrate(known()), &shipped = default_calibration();
  const std::string stale =
      "stale: gradwire validate presets/measured/collectives.jsonl --fit > presets/nccl.yaml";
  for (std::size_t i = 0; i < kNcclConstants; ++i)
    EXPECT_NEAR(std::log(fitted.values[i] / shipped.values[i]), 0, 1e-3) << nccl_priors()[i].name << stale;
  ASSERT_EQ(fitted.unexplained.size(), shipped.unexplained.size()) << stale;
  for (const auto& [scope, open] : fitted.unexplained)
    EXPECT_NEAR(open.from_1mb, shipped.unexplained.at(scope).from_1mb, 1e-3) << scope << stale;
}

TEST(AllReduceAccuracy, no_constant_leaves_its_prior_by_more_than_three_spreads) {
  for (std::size_t i = 0; i < kNcclConstants; ++i) {
    const NcclPrior& prior = nccl_priors()[i];
    EXPECT_LT(std::abs(std::log(default_calibration().values[i] / prior.value)), 3 * prior.spread)
        << prior.name;
  }
}

TEST(AllReduceAccuracy, odd_records_are_never_calibrated_on) {
  const auto odd = [](const PreparedRecord& one, std::size_t) { return one.record.quality == Quality::odd; };
  EXPECT_TRUE(fit_sweeps(known(), odd).empty());
}

TEST(AllReduceAccuracy, the_table_we_carry_holds_the_figures_of_the_shared_one_where_that_is_there) {
  const char* shared = std::getenv("GRADWIRE_SHARED");
  const auto folder =
      std::filesystem::path(shared ? shared : GRADWIRE_SOURCE_DIR "/../shared") / "groundtruth";
  std::vector<Record> records;
  for (const char* name : {"collectives.jsonl", "collectives_pcie.jsonl"}) {
    if (!std::filesystem::exists(folder / name)) GTEST_SKIP() << folder / name << " is not there";
    for (auto& record : read_records(folder / name)) records.push_back(std::move(record));
  }
  fmt::print("compared with {}\n", folder.string());
  ASSERT_EQ(records.size(), built_in_records().size());
  for (std::size_t i = 0; i < records.size(); ++i)
    for (std::size_t j = 0; j < records[i].collective->rows.size(); ++j)
      EXPECT_EQ(records[i].collective->rows[j].time, built_in_records()[i].collective->rows[j].time)
          << records[i].id;
}

TEST(AllReduceAccuracy, a_sweep_of_one_gpu_is_skipped_with_the_reason) {
  std::vector<Record> records = {built_in_records()[0]};
  records[0].collective->nodes = records[0].collective->gpus_per_node = 1;
  std::vector<std::string> skipped;
  EXPECT_TRUE(prepare(records, &skipped).empty());
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_NE(skipped[0].find(records[0].id + "): one GPU alone"), std::string::npos) << skipped[0];
}

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
  EXPECT_EQ(doubt_of(record, {}), "") << "it counts";
  record.quality = Quality::odd;
  std::vector<ValidationPoint> points(2);
  points[0].id = "a", points[0].point = "8 bytes", points[0].measured = 20, points[0].predicted = 10;
  points[1].id = "other", points[1].measured = 1, points[1].predicted = 9;
  EXPECT_EQ(doubt_of(record, points),
            "2 GPUs at 115 % of linear; 8 bytes: measured 2 times the predicted time");
  record.notes = "slow disk";
  record.training.reset();
  EXPECT_EQ(doubt_of(record, {}), "slow disk");
}

TEST(Summary, holds_no_point_without_a_finite_prediction) {
  std::vector<ValidationPoint> points(4);
  for (ValidationPoint& point : points) point.id = "a", point.measured = point.predicted = 10;
  points[1].predicted = std::nan("");
  points[2].predicted = HUGE_VAL;
  points[3].predicted = 0;
  std::vector<std::string> skipped;
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

#include "sim/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "sched/algorithms.h"
#include "sim/simulate.h"
#include "sim/sweep.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<Sample> sweep(const std::function<Seconds(double)>& time) {
  std::vector<Sample> samples;
  for (Bytes bytes = 64; bytes <= 256 << 20; bytes *= 4)
    samples.push_back({bytes, time(static_cast<double>(bytes))});
  return samples;
}

TEST(FitLine, finds_the_line_behind_its_points) {
  // t = 10 us + x / 2 GB/s
  const Stretch line = fit_line(sweep([](double x) { return 10e-6 + x / 2e9; }));
  EXPECT_NEAR(line.alpha, 10e-6, 1e-12);
  EXPECT_NEAR(line.seconds_per_byte, 0.5e-9, 1e-16);
}

TEST(FitLine, takes_half_and_twice_for_equally_wrong) {
  // Two times for one size, 1 and 4: the geometric mean is as far from both.
  EXPECT_NEAR(fit_line(std::vector<Sample>{{0, 1}, {0, 4}}).alpha, 2, 1e-6);
}

TEST(FitLine, is_never_below_zero) {
  // Points of t = x^2: the line would start below 0, so it starts at 0; of the rates 1 and 2 the geometric
  // mean.
  const Stretch steep = fit_line(std::vector<Sample>{{1, 1}, {2, 4}});
  EXPECT_EQ(steep.alpha, 0);
  EXPECT_NEAR(steep.seconds_per_byte, std::sqrt(2), 1e-6);
  // A falling line is flat.
  const Stretch flat = fit_line(std::vector<Sample>{{1, 2}, {2, 1}});
  EXPECT_EQ(flat.seconds_per_byte, 0);
  EXPECT_NEAR(flat.alpha, std::sqrt(2), 1e-6);
}

TEST(FitCurve, takes_one_stretch_for_one_line) {
  const Curve curve = fit_curve(sweep([](double x) { return 3e-6 + x / 5e9; }));
  ASSERT_EQ(curve.stretches().size(), 1u);
  EXPECT_LT(curve.error().worst, 1e-9);
  EXPECT_NEAR(curve.at(1 << 30), 3e-6 + (1 << 30) / 5e9, 1e-9);
}

TEST(FitCurve, sees_where_a_backend_changes_its_ways) {
  // Up to 64 KiB in caches, 2 us + x / 20 GB/s; above it 10 us + x / 4 GB/s.
  const auto time = [](double x) { return x <= 65536 ? 2e-6 + x / 20e9 : 10e-6 + x / 4e9; };
  const Curve curve = fit_curve(sweep(time));
  ASSERT_EQ(curve.stretches().size(), 2u);
  EXPECT_LT(curve.error().worst, 1e-9);
  EXPECT_NEAR(curve.at(1000), time(1000), 1e-12);
  EXPECT_NEAR(curve.at(10 << 20), time(10 << 20), 1e-9);
  EXPECT_GT(curve.stretches()[1].from, 65536);
  EXPECT_LT(curve.stretches()[1].from, 262144);
}

TEST(FitCurve, seldom_takes_noise_for_change) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(1, 0.05);
  int one = 0;
  for (int round = 0; round < 50; ++round) {
    const Curve curve = fit_curve(sweep([&](double x) { return (20e-6 + x / 1e9) * noise(random); }));
    one += curve.stretches().size() == 1;
    EXPECT_LT(curve.error().mean, 0.08);
    EXPECT_NEAR(curve.at(1 << 26), (1 << 26) / 1e9, 0.15 * (1 << 26) / 1e9);
  }
  EXPECT_GE(one, 40);
}

TEST(FitCurve, goes_through_the_medians_where_no_few_lines_fit) {
  // t = x^3 in steps of 1.25: no line with alpha above 0 follows it, and four can't either.
  std::vector<Sample> samples;
  for (double bytes = 1e6; bytes < 1e8; bytes *= 1.25)
    samples.push_back({static_cast<Bytes>(bytes), 1e-6 * std::pow(bytes / 1e6, 3)});
  const Curve curve = fit_curve(samples);
  for (const Sample& sample : samples) EXPECT_NEAR(curve.at(sample.bytes), sample.time, 1e-9 * sample.time);
  EXPECT_DOUBLE_EQ(curve.at(1000), 1e-6);  // as the first
  const Sample& last = samples.back();
  EXPECT_NEAR(curve.at(2 * last.bytes), 2 * last.time, 1e-9);  // at the last one's rate
  // At 1, 1.25 and 1.5625 times a size: 1, 1.953 and 3.815; the line between the outer ones has
  // 1 + 2.815 x 0.25 / 0.5625 = 2.251 in the middle, 15.3 % more.
  EXPECT_NEAR(curve.error().worst, 0.1526, 1e-3);
}

TEST(FitCurve, keeps_to_few_lines_where_times_jump_about_them) {
  std::mt19937 random(6);
  const Curve curve =
      fit_curve(sweep([&](double x) { return (20e-6 + x / 1e9) * (random() % 2 == 0 ? 1 : 3); }));
  EXPECT_LE(curve.stretches().size(), 4u);
  EXPECT_GT(curve.error().worst, 0.2);
}

TEST(FitCurve, is_not_moved_by_one_disturbed_round) {
  std::vector<Sample> samples;
  for (int round = 0; round < 5; ++round)
    for (const Sample& sample : sweep([&](double x) { return (1e-6 + x / 1e9) * (round == 3 ? 50 : 1); }))
      samples.push_back(sample);
  EXPECT_NEAR(fit_curve(samples).at(1 << 20), 1e-6 + (1 << 20) / 1e9, 1e-12);
}

TEST(FitCurve, takes_what_there_is) {
  EXPECT_DOUBLE_EQ(fit_curve(std::vector<Sample>{{100, 2e-6}}).at(100), 2e-6);
  EXPECT_THROW(fit_curve({}), ConfigError);
  EXPECT_THROW(fit_curve(std::vector<Sample>{{1, 0}}), ConfigError);
  EXPECT_THROW(fit_curve(std::vector<Sample>{{1, std::numeric_limits<double>::quiet_NaN()}}), ConfigError);
}

TEST(SolveNonNegative, finds_the_best_that_is_not_below_zero) {
  // x + y = 2, x - y = 0 has x = y = 1.
  EXPECT_THAT(solve_non_negative({{1, 1}, {1, -1}}, {2, 0}),
              testing::ElementsAre(testing::DoubleNear(1, 1e-9), testing::DoubleNear(1, 1e-9)));
  // x + y = 1, x - y = 3 has y = -1; with y = 0 the best x is their mean, 2.
  EXPECT_THAT(solve_non_negative({{1, 1}, {1, -1}}, {1, 3}),
              testing::ElementsAre(testing::DoubleNear(2, 1e-9), 0));
}

// Rings of a few sizes and ranks on a network of 10 GB/s, timed by a model whose costs are to be found again.
std::vector<Measured> measure(const CostModel& truth) {
  std::vector<Measured> measured;
  for (const int world : {2, 4})
    for (const Bytes bytes : {Bytes{64}, Bytes{64} << 10, Bytes{4} << 20, Bytes{64} << 20}) {
      const auto simulated = [=](const CostModel& cost) {
        std::vector<Plan> plans;
        for (Rank rank = 0; rank < world; ++rank) plans.push_back(make_plan(ring_all_reduce(rank, world)));
        return simulate_time(plans, divide_evenly(plans[0].part.shape, bytes),
                             star(world, {10e9, 0}, ring_pairs(world)), cost)
            .time;
      };
      measured.push_back({simulated, simulated(truth)});
    }
  return measured;
}

TEST(FitCost, finds_the_costs_that_made_the_times) {
  const CostModel truth{.per_step = 2e-6, .per_message = 7e-6, .reduce_bytes_per_s = 4e9, .efficiency = 0.8};
  const FittedCost fitted = fit_cost(measure(truth), {.reduce_bytes_per_s = 10e9});
  EXPECT_LT(fitted.error.worst, 1e-4);
  // A ring has a sum for every second message whatever its size, so how the two share their costs is
  // not known; what they cost together is: 2 messages and a sum, 2 x 7 + 2 us and 2 / 8 + 1 / 4 s for a GB.
  EXPECT_NEAR(2 * fitted.cost.per_message + fitted.cost.per_step, 16e-6, 1e-8);
  EXPECT_NEAR(2 / (10e9 * fitted.cost.efficiency) + 1 / fitted.cost.reduce_bytes_per_s, 0.5e-9, 1e-12);
}

TEST(FitCost, leaves_what_nothing_is_known_about) {
  const FittedCost fitted =
      fit_cost(measure({.per_message = 5e-6}), {.per_message = 1e-6, .copy_bytes_per_s = 3e9});
  EXPECT_NEAR(fitted.cost.copy_bytes_per_s, 3e9, 1e-3 * 3e9);  // rings copy nothing
}

TEST(FitCost, refuses_what_cannot_be_fitted) {
  EXPECT_THROW(fit_cost({}, {}), ConfigError);
  EXPECT_THROW(fit_cost(std::vector<Measured>{{[](const CostModel&) { return 1.0; }, -1}}, {}), ConfigError);
  EXPECT_THROW(fit_cost(std::vector<Measured>{{[](const CostModel&) { return 0.0; }, 1}}, {}), ConfigError);
}

constexpr const char* kBench = R"({"rows": [
  {"backend": "tcp", "collective": "all_reduce", "ranks": 2, "bytes": 1024, "time_us": 15.5},
  {"backend": "tcp", "collective": "all_reduce", "ranks": 2, "bytes": 4096, "time_us": 20},
  {"backend": "shm", "collective": "all_reduce", "ranks": 2, "bytes": 1024, "time_us": 1.5}]})";

TEST(Sweep, reads_what_bench_prints) {
  const std::vector<Sweep> sweeps = read_sweeps(kBench);
  ASSERT_EQ(sweeps.size(), 2u);
  const Sweep& tcp = sweep_of(sweeps, "tcp", Collective::all_reduce, 2);
  ASSERT_EQ(tcp.samples.size(), 2u);
  EXPECT_EQ(tcp.samples[1].bytes, 4096u);
  EXPECT_DOUBLE_EQ(tcp.samples[0].time, 15.5e-6);
  EXPECT_THAT(
      [&] { sweep_of(sweeps, "gloo", Collective::all_reduce, 2); },
      ThrowsMessage<ConfigError>(HasSubstr("all_reduce on gloo with 2 ranks was not measured; there are: "
                                           "all_reduce on tcp with 2 ranks")));
}

TEST(Sweep, says_which_row_is_wrong) {
  const auto expect_error = [](const std::string& json, const char* text) {
    EXPECT_THAT([&] { read_sweeps(json); }, ThrowsMessage<ConfigError>(HasSubstr(text))) << json;
  };
  expect_error("", "not what `gradwire bench --json` prints");
  expect_error("[]", "not what");
  expect_error(R"({"rows": []})", "no rows");
  expect_error(R"({"rows": [3]})", "row 1 is no object");
  expect_error(R"({"rows": [{"ranks": 2}]})", "row 1 has no backend");
  expect_error(
      R"({"rows": [{"ranks": 2.5, "backend": "x", "collective": "all_reduce", "bytes": 1, "time_us": 1}]})",
      "has 2.5 ranks");
  expect_error(
      R"({"rows": [{"ranks": 2, "backend": "x", "collective": "all_reduce", "bytes": -1, "time_us": 1}]})",
      "bytes of -1");
  expect_error(
      R"({"rows": [{"ranks": 2, "backend": "x", "collective": "all_reduce", "bytes": 1, "time_us": 0}]})",
      "time_us of 0");
  const std::string whole = kBench;
  for (std::size_t length = 0; length < whole.size(); length += 7)
    EXPECT_THROW(read_sweeps(whole.substr(0, length)), ConfigError);
}

}  // namespace
}  // namespace gradwire

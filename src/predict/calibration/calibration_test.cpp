#include "predict/calibration/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "predict/calibration/fit.h"
#include "predict/calibration/least_squares.h"

namespace gradwire {
namespace {

// Sweeps of two classes under one: times that are exactly the rules' with known factors.
std::vector<FitSample> made_up(double latency_a, double transfer_b) {
  std::vector<FitSample> samples;
  for (const bool b : {false, true})
    for (double transfer = 1e-7; transfer < 1; transfer *= 2) {
      const std::vector<CalibrationClass> classes = {{"top", 0.01}, {b ? "b" : "a", 0.01}};
      const double measured = 1e-5 * (b ? 1 : latency_a) + transfer * (b ? transfer_b : 1);
      samples.push_back(
          {{classes, classes, {}, "", ""}, 1e-5, transfer, measured, 1, {}, b ? "sweep b" : "sweep a"});
    }
  return samples;
}

TEST(Calibration, FittingFindsTheFactorsThatMadeTheTimes) {
  const auto samples = made_up(3, 0.5);
  const Calibration calibration = fit(samples);
  for (const FitSample& sample : samples)
    EXPECT_NEAR(corrected_time(sample.latency, sample.transfer, calibration.find(sample.classes)),
                sample.measured, 0.02 * sample.measured);
  EXPECT_EQ(calibration.fitted_on.at("a"), std::vector<std::string>{"sweep a"});
}

TEST(Calibration, AnOutlierMovesLittle) {
  auto samples = made_up(1, 1);
  samples[5].measured *= 20;
  const Calibration calibration = fit(samples);
  EXPECT_NEAR(corrected_time(1e-5, 1e-6, calibration.find(samples[0].classes)), 1.1e-5, 0.05 * 1.1e-5);
}

TEST(Calibration, AClassNobodyMeasuredFallsBackToTheOneAbove) {
  const Calibration calibration = fit(made_up(2, 2));
  const std::vector<CalibrationClass> known = {{"top"}}, unknown = {{"top"}, {"never seen"}};
  EXPECT_EQ(calibration.find({known, known, {}, "", ""}).latency,
            calibration.find({unknown, unknown, {}, "", ""}).latency);
  EXPECT_EQ(calibration.find({{}, {}, {}, "", ""}).latency, 0);
}

TEST(Calibration, SurvivesBeingWrittenAndRead) {
  Calibration calibration = fit(made_up(3, 0.5));
  calibration.ramp["top"] = {.1, .2};
  calibration.errors["all"] = {.2, .1};
  const Calibration again = parse_calibration(calibration_yaml(calibration), "x.yaml");
  EXPECT_NEAR(again.latency.at("a"), calibration.latency.at("a"), 1e-4);
  EXPECT_NEAR(again.ramp.at("top")[1], .2, 1e-4);
  EXPECT_EQ(again.fitted_on, calibration.fitted_on);
  EXPECT_NEAR(again.expected_error("whatever").from_1mb, .1, 1e-3);
}

TEST(Calibration, RefusesBrokenFilesInOneLine) {
  for (const char* text :
       {"", "classes", "classes: {}", "classes: [1]", "classes: [{class: a, latency: x}]",
        "classes: [{class: a, latency: 1e9}]", "classes: [{class: a, ramp: [1]}]", "classes: [{",
        "classes: [{class: a, latency: .nan}]", "classes: [{class: a, expected_error: 3}]",
        "classes: [{class: a, fitted_on: [[1]]}]"}) {
    try {
      parse_calibration(text, "broken.yaml");
      ADD_FAILURE() << "took " << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string(error.what()).find("broken.yaml"), 0u) << error.what();
    }
  }
}

TEST(LeastSquares, FindsTheMiddleOfContradictingRowsByWeight) {
  LeastSquares system(1);
  system.pull(0, 1e-12);
  const LeastSquares::Term one{0, 1};
  system.add({&one, 1}, 1, 3);
  system.add({&one, 1}, 5, 1);
  EXPECT_NEAR(system.solve()[0], 2, 1e-9);  // (3 x 1 + 1 x 5) / 4
}

}  // namespace
}  // namespace gradwire

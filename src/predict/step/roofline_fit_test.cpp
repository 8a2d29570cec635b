#include "predict/step/roofline_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "predict/step/constants.h"
#include "predict/step/training.h"

namespace gradwire {
namespace {

const std::vector<OneGpuStep>& measured() {
  static const auto steps = one_gpu_steps(built_in_training_records());
  return steps;
}

// Every step judged by shares that were fitted without those of the same `what`.
template <typename What>
std::vector<double> errors_without(const What& what) {
  std::vector<double> errors;
  std::vector<std::string> asked;
  for (const auto& one : measured()) {
    if (std::find(asked.begin(), asked.end(), what(one)) != asked.end()) continue;
    asked.push_back(what(one));
    std::vector<OneGpuStep> others, same;
    for (const auto& other : measured()) (what(other) == what(one) ? same : others).push_back(other);
    const auto roofline = fit_roofline(others, roofline_start());
    for (const auto& other : same) errors.push_back(std::abs(log_error(other, roofline)));
  }
  return errors;
}

double factor_that_holds(double share, std::vector<double> errors) {
  const auto place = errors.begin() + static_cast<std::ptrdiff_t>(double(errors.size()) * share);
  std::nth_element(errors.begin(), place, errors.end());
  return std::exp(*place);
}

std::string describe(const Roofline& roofline) {
  return fmt::format("plain {:.3f}, tensor {:.3f}, memory {:.3f}", fmt::join(roofline.plain, " "),
                     fmt::join(roofline.tensor, " "), roofline.memory);
}

TEST(RooflineFit, finds_what_ships) {
  ASSERT_GT(measured().size(), 150u);
  const auto mean = [](const Roofline& roofline) {
    double sum = 0;
    for (const auto& one : measured()) sum += std::min(std::abs(log_error(one, roofline)), std::log(2.0));
    return sum / double(measured().size());
  };
  const auto found = fit_roofline(measured(), roofline_start());
  EXPECT_LT(mean(default_roofline()), mean(found) + 0.003)
      << "for presets/roofline.yaml: " << describe(found);
}

TEST(RooflineFit, holds_eight_of_ten_models_never_seen_within_its_factor) {
  const auto errors = errors_without([](const OneGpuStep& one) { return one.model; });
  const double factor = factor_that_holds(0.8, errors);
  RecordProperty("eight_of_ten", std::to_string(factor));
  RecordProperty("half", std::to_string(factor_that_holds(0.5, errors)));
  EXPECT_NEAR(factor, 1 + default_step_constants().error_roofline, 0.03);
}

TEST(RooflineFit, holds_gpus_never_seen_at_least_as_well) {
  const auto errors = errors_without([](const OneGpuStep& one) { return one.gpu.id; });
  const double factor = factor_that_holds(0.8, errors);
  RecordProperty("eight_of_ten", std::to_string(factor));
  RecordProperty("half", std::to_string(factor_that_holds(0.5, errors)));
  EXPECT_LT(factor, 1 + default_step_constants().error_roofline + 0.03);
}

}  // namespace
}  // namespace gradwire

#include "predict/step/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

namespace gradwire {
namespace {

constexpr double kWorst = 0.5;
constexpr std::array<double, 6> kFactors = {2.0, 1.5, 1.25, 1.12, 1.05, 1.02};

// A share stays one.
void keep_possible(StepConstants& constants) {
  for (const auto member :
       {&StepConstants::hiding_ddp, &StepConstants::hiding_horovod, &StepConstants::slowdown_direct})
    constants.*member = std::min(constants.*member, 1.0);
}

}  // namespace

double relative_error(const MeasuredStep& measured, const StepConstants& constants) {
  return measured.step / solve_step(measured.problem, constants) - 1;
}

double mean_error(const std::vector<MeasuredStep>& all, const StepConstants& constants) {
  std::map<std::string_view, std::pair<double, double>> platforms;  // sum of errors, count
  for (const auto& measured : all) {
    auto& [sum, count] = platforms[measured.platform];
    sum += std::min(std::abs(relative_error(measured, constants)), kWorst);
    ++count;
  }
  double sum = 0, weights = 0;
  for (const auto& [name, platform] : platforms) {
    const double weight = std::sqrt(platform.second);
    sum += weight * platform.first / platform.second;
    weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
}

StepConstants fit_constants(const std::vector<MeasuredStep>& all, StepConstants best) {
  double error = mean_error(all, best);
  for (const double factor : kFactors)
    for (int round = 0; round < 6; ++round)
      for (const auto& [name, member] : fitted_constants())
        for (const double change : {factor, 1 / factor}) {
          auto candidate = best;
          candidate.*member *= change;
          keep_possible(candidate);
          const double trial = mean_error(all, candidate);
          if (trial < error - 1e-9) error = trial, best = candidate;
        }
  return best;
}

StepConstants fit_without(const std::vector<MeasuredStep>& all, const std::string& platform,
                          const StepConstants& start) {
  std::vector<MeasuredStep> others;
  std::copy_if(all.begin(), all.end(), std::back_inserter(others),
               [&](const MeasuredStep& measured) { return measured.platform != platform; });
  return fit_constants(others, start);
}

StepConstants fit_start() {
  auto start = default_step_constants();  // what is not fitted stays
  start.ddp_us_per_tensor = 20;
  start.replicated_us_per_tensor = 20;
  start.hiding_ddp = start.hiding_horovod = 0.5;
  start.slowdown_direct = 0.5;
  start.spread_share = 0.01;
  return start;
}

}  // namespace gradwire

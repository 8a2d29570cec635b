#include "predict/step/fit.h"

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

constexpr double kWorst = 0.5;

// A share stays one.
void keep_possible(StepConstants& constants) {
  for (const auto member :
       {&StepConstants::hiding_horovod, &StepConstants::slowdown_direct, &StepConstants::slowdown_host})
    constants.*member = std::min(constants.*member, 1.0);
}

}  // namespace

double relative_error(const MeasuredStep& measured, const StepConstants& constants) {
  return measured.step / solve_step(measured.problem, constants) - 1;
}

double mean_error(const std::vector<MeasuredStep>& all, const StepConstants& constants) {
  double sum = 0;
  for (const auto& measured : all) sum += std::min(std::abs(relative_error(measured, constants)), kWorst);
  return all.empty() ? 0 : sum / double(all.size());
}

StepConstants fit_constants(const std::vector<MeasuredStep>& all, StepConstants start) {
  std::vector<std::function<double&(StepConstants&)>> knobs;
  for (const auto& [name, member] : fitted_constants())
    knobs.emplace_back([member = member](StepConstants& constants) -> double& { return constants.*member; });
  return walk_down<StepConstants>(start, knobs, [&](StepConstants& constants) {
    keep_possible(constants);
    return mean_error(all, constants);
  });
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
  start.replicated_us_per_tensor = start.staged_us_per_tensor = 20;
  start.hiding_horovod = 0.5;
  start.slowdown_direct = start.slowdown_host = 0.5;
  start.spread_share = 0.01;
  return start;
}

}  // namespace gradwire

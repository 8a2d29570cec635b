#include "predict/step/roofline_fit.h"

#include <algorithm>
#include <cmath>

#include "predict/step/fit.h"
#include "predict/step/training.h"
#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

using Shares = decltype(Roofline::plain) Roofline::*;
constexpr Shares kShares[] = {&Roofline::plain, &Roofline::tensor};
// What no measured model spends much of its time in stays as it is.
constexpr LayerKind kFitted[] = {LayerKind::convolution, LayerKind::matmul, LayerKind::recurrent};

double& share_of(Roofline& roofline, Shares shares, LayerKind kind) {
  return (roofline.*shares)[static_cast<std::size_t>(kind)];
}

// Only convolutions have an algorithm that does with fewer multiplications.
void keep_shares_possible(Roofline& roofline) {
  for (const auto shares : kShares)
    for (const auto kind : {LayerKind::matmul, LayerKind::recurrent})
      share_of(roofline, shares, kind) = std::min(share_of(roofline, shares, kind), 1.0);
}

bool is_usable(const Record& record, const TrainingValue& value) {
  return value.anchor && value.gpus == 1 && record.quality == Quality::ok && !record.gpu.empty() &&
         record.training->counts_samples && find_model(record.training->model);
}

OneGpuStep one_gpu_step(const Record& record, const TrainingValue& value) {
  const auto setup = training_setup(record, value, nullptr);
  auto workload = training_workload(record);
  const auto estimate = estimate_step(workload, setup.machine, setup.options);
  return {record.training->model,   std::move(workload),
          setup.machine.gpu,        setup.options.precision,
          setup.options.batch,      setup.options.accumulate,
          estimate.parts.optimizer, setup.samples / value.samples_per_s};
}

}  // namespace

std::vector<OneGpuStep> one_gpu_steps(const std::vector<Record>& records) {
  std::vector<OneGpuStep> steps;
  for (const auto& record : records) {
    if (!record.training) continue;
    for (const auto& value : record.training->values)
      if (is_usable(record, value)) steps.push_back(one_gpu_step(record, value));
  }
  return steps;
}

double log_error(const OneGpuStep& one, const Roofline& roofline) {
  const auto computing = layer_times(one.workload, one.gpu, one.precision, one.batch, roofline).total();
  return std::log((one.accumulate * computing + one.optimizer) / one.step);
}

Roofline fit_roofline(const std::vector<OneGpuStep>& steps, const Roofline& start) {
  std::vector<std::function<double&(Roofline&)>> knobs = {
      [](Roofline& roofline) -> double& { return roofline.memory; }};
  for (const auto shares : kShares)
    for (const auto kind : kFitted)
      knobs.emplace_back([=](Roofline& roofline) -> double& { return share_of(roofline, shares, kind); });
  return walk_down<Roofline>(start, knobs, [&](Roofline& roofline) {
    keep_shares_possible(roofline);
    double sum = 0;
    for (const auto& one : steps) sum += std::min(std::abs(log_error(one, roofline)), std::log(2.0));
    return sum / double(std::max<std::size_t>(1, steps.size()));
  });
}

Roofline roofline_start() {
  auto start = default_roofline();  // what is not fitted stays
  start.memory = 0.8;
  for (const auto shares : kShares)
    for (const auto kind : kFitted) share_of(start, shares, kind) = 0.5;
  return start;
}

}  // namespace gradwire

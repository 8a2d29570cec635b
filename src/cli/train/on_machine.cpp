#include "cli/train/on_machine.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/compare/print.h"
#include "predict/step/measured.h"
#include "predict/step/on_machine.h"
#include "predict/step/recorded.h"
#include "predict/workload/catalog.h"
#include "report/step_chart.h"
#include "report/wrap.h"

namespace gradwire {
namespace {

constexpr int kMostRanksDrawn = 16;  // ranks of a model are alike; a trace of thousands helps nobody

nlohmann::json result_json(const TrainOnOptions& options, const StepEstimate& estimate) {
  const auto& parts = estimate.parts;
  return {{"model", options.model},
          {"on", options.on},
          {"ranks", estimate.ranks},
          {"batch", estimate.batch},
          {"samples_per_s", estimate.samples_per_s},
          {"step_ms", estimate.step * 1e3},
          {"loss_first", nullptr},
          {"loss_last", nullptr},
          {"scaling", estimate.scaling},
          {"relative_error", estimate.relative_error},
          {"breakdown_ms",
           {{"data", parts.data * 1e3},
            {"forward", parts.forward * 1e3},
            {"backward", parts.backward * 1e3},
            {"comm_overlapped", parts.comm_overlapped * 1e3},
            {"comm_exposed", parts.comm_exposed * 1e3},
            {"optimizer", parts.optimizer * 1e3},
            {"other", parts.other * 1e3}}}};
}

std::string machine_title(const TrainOnOptions& options, const Workload& workload,
                          const StepEstimate& estimate) {
  return fmt::format("{} on {} GPUs of {}, simulated: {:.1f} ms a step, {:.1f} {}/s, scaling {:.0f} %",
                     workload.name, estimate.ranks, options.on, estimate.step * 1e3, estimate.samples_per_s,
                     plural(workload.sample), 100 * estimate.scaling);
}

int tell(const TrainOnOptions& options, const StepEstimate& estimate, const std::string& title) {
  if (!options.trace.empty())
    write_timeline(options.trace,
                   timeline_of(estimate, fmt::format("model: {} on {}", options.model, options.on),
                               std::min(estimate.ranks, kMostRanksDrawn)));
  if (options.json)
    fmt::print("{}\n", result_json(options, estimate).dump(2));
  else
    fmt::print("{}    {} buckets, {:.1f} ms of all-reduce; expect an error of {:.0f} %\n",
               draw_step(estimate.parts, {.title = wrap(title)}), estimate.buckets.size(),
               estimate.communication * 1e3, 100 * estimate.relative_error);
  return 0;
}

// What one step computes and what its wires take, both as measured.
int train_on_measured_wires(const TrainOnOptions& options) {
  if (!options.model.ends_with(".json"))
    throw ConfigError(
        fmt::format("--on {0}: measured wires need a measured step: write `gradwire train {1} --backend none "
                    "--trace step.json`, "
                    "then `gradwire train step.json --on {0}`",
                    options.on, options.model));
  const auto sweep = read_sweep(options.on, options.backend, options.ranks);
  const auto recorded = recorded_step(read_timeline(options.model), options.model);
  const auto problem = recorded_problem(recorded, measured_wires(sweep), !options.step.no_overlap);
  const auto estimate = solve(problem, recorded_constants(recorded));
  return tell(
      options, estimate,
      fmt::format("{} with {} ranks over {}, predicted: {:.1f} ms a step, scaling {:.0f} %", options.model,
                  estimate.ranks, sweep.backend, estimate.step * 1e3, 100 * estimate.scaling));
}

}  // namespace

int train_on_machine(const TrainOnOptions& options) {
  if (is_sweep(options.on)) return train_on_measured_wires(options);
  const auto workload = load_model(options.model, sequence_of(options.step));
  const auto estimate =
      estimate_step(workload, find_machine(options.on), step_options(options.step, workload));
  return tell(options, estimate, machine_title(options, workload, estimate));
}

}  // namespace gradwire

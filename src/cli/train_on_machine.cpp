#include <fmt/format.h>

#include "base/error.h"
#include "cli/compare_question.h"
#include "cli/train_ways.h"
#include "predict/compare/compare.h"
#include "predict/step/on_machine.h"
#include "predict/step/recorded.h"
#include "predict/step/replay.h"
#include "report/render.h"
#include "report/simulated.h"

namespace gradwire {
namespace {

int tell(const TrainOnOptions& options, SimulatedStep step) {
  step.model = options.model;
  step.on = options.on;
  step.trace = options.trace;
  if (!options.real.empty()) step.real = RecordedRun{options.real, recorded_timeline(options.real)};
  if (!options.trace.empty()) write_timeline(options.trace, timeline_of(step));
  Report report = simulated_report(step);
  show(report, options.json);
  if (options.html.empty()) return 0;
  std::vector<RecordedRun> recorded;
  if (is_trace(options.model)) recorded.push_back({options.model, recorded_timeline(options.model)});
  write_html(options.html, simulated_page(step, std::move(report), recorded));
  return 0;
}

// A parallel step that was rehearsed, over wires that were measured.
SimulatedStep step_rehearsed(const TrainOnOptions& options, const Timeline& rehearsal) {
  const MeasuredCalls wires(read_sweep_files(options.on), options.backend);
  Replayed replayed = replay(rehearsal, wires);
  SimulatedStep step;
  step.estimate = replayed_estimate(rehearsal, replayed);
  step.backend = wires.backend();
  step.replayed = std::move(replayed.timeline);
  return step;
}

// What one step computes and what its wires take, both as measured.
SimulatedStep step_on_measured_wires(const TrainOnOptions& options) {
  if (!options.measured.empty()) throw ConfigError("--measured: --on is what was measured already");
  if (!is_trace(options.model))
    throw ConfigError(
        fmt::format("--on {0}: measured wires need a measured step: write `gradwire train {1} --backend none "
                    "--trace step.json`, "
                    "then `gradwire train step.json --on {0}`",
                    options.on, options.model));
  const auto timeline = read_timeline(options.model);
  if (is_rehearsal(timeline)) return step_rehearsed(options, timeline);
  const auto sweep = read_sweep(options.on, options.backend, options.ranks);
  const auto recorded = recorded_step(timeline, options.model);
  const auto problem = recorded_problem(recorded, measured_wires(sweep), !options.step.no_overlap);
  SimulatedStep step;
  step.estimate = solve(problem, recorded_constants(recorded));
  step.backend = sweep.backend;
  step.disturbed = was_disturbed(recorded);
  return step;
}

SimulatedStep step_on_machine(const TrainOnOptions& options) {
  if (!options.backend.empty())
    throw ConfigError(fmt::format("--backend {} has no meaning with --on {}: a machine's model is NCCL's",
                                  options.backend, options.on));
  const auto question = question_of(options.model, options.step);
  Machine machine = find_machine(options.on);
  apply_measured(machine, options.measured, question.options.nccl);
  if (options.ranks) machine = with_gpus(std::move(machine), *options.ranks);
  SimulatedStep step;
  step.estimate = estimate_step(question.workload, machine, question.options);
  step.misfit = find_misfit(question.workload, machine, question.options);
  step.warning = question.warning;
  step.machine = SimulatedOn{std::move(machine), question.workload.name, question.workload.sample,
                             question.options.nccl};
  return step;
}

}  // namespace

int train_on_machine(const TrainOnOptions& options) {
  return tell(options, is_sweep(options.on) ? step_on_measured_wires(options) : step_on_machine(options));
}

}  // namespace gradwire

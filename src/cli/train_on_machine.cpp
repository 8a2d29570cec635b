#include <fmt/format.h>

#include "base/error.h"
#include "cli/compare_question.h"
#include "cli/train_ways.h"
#include "predict/compare/compare.h"
#include "predict/step/on_machine.h"
#include "predict/step/recorded.h"
#include "predict/step/replay.h"
#include "predict/workload/catalog.h"
#include "report/page/topology.h"
#include "report/plan/plan.h"
#include "report/render.h"
#include "report/simulated.h"
#include "train/job/mesh_options.h"

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
                    "--trace step.json`{2}, then `gradwire train step.json --on {0}`",
                    options.on, options.model, options.split ? " with the flags that split it" : ""));
  if (options.step.step_ms > 0)
    throw ConfigError(fmt::format("--step-ms: {} says what a step computes; leave it out", options.model));
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

// What flags give of a layout, with the counts that nobody said.
TrainOptions checked_split(const TrainOptions& train) {
  if (train.schedule == PipelineSchedule::gpipe)
    throw ConfigError("--schedule gpipe with --on: it takes as long as 1f1b and more memory; write 1f1b");
  return complete_counts(train);
}

SimulatedStep step_on_machine(const TrainOnOptions& options) {
  if (!options.backend.empty())
    throw ConfigError(fmt::format("--backend {} has no meaning with --on {}: a machine's model is NCCL's",
                                  options.backend, options.on));
  const auto question = question_of(options.model, options.step);
  Machine machine = find_machine(options.on);
  apply_measured(machine, options.measured, question.options.nccl);
  if (options.ranks) machine = with_gpus(std::move(machine), *options.ranks);
  if (options.split) mesh_of(checked_split(*options.split), static_cast<int>(machine.gpus.size()));
  SimulatedStep step;
  step.estimate = estimate_step(question.workload, machine, question.options);
  step.misfit = find_misfit(question.workload, machine, question.options);
  step.warning = question.premise.empty() ? question.warning : question.premise;
  step.machine = SimulatedOn{std::move(machine), question.workload.name, question.workload.sample,
                             question.options.nccl};
  return step;
}

// What `train` would do with so many GPUs, as `plan` asks for it: nothing is left open but where experts live.
PlanQuestion split_question(const TrainOnOptions& options, const TrainOptions& train, int gpus) {
  PlanQuestion question;
  question.shape = transformer_sizes(options.model, sequence_of(options.step));
  question.precision = parse_plan_precision(options.step.precision);
  question.nccl = nccl_settings(options.step.nccl);
  question.flags = {"--batch", "--virtual-stages", "`gradwire plan --offload`"};
  const Mesh mesh = mesh_of(train, gpus);
  question.dp = mesh.dp, question.tp = mesh.tp, question.pp = mesh.pp;
  question.shard = train.shard;
  question.virtual_stages = train.virtual_stages;
  question.recompute = train.recompute ? Recompute::full : Recompute::none;
  question.sequence_parallel = train.sequence_parallel;
  question.micro_batch = train.batch > 0 ? train.batch : load_model(options.model).batch;
  question.batch = sequences_of(mesh.dp, train.accumulate, *question.micro_batch);
  if (options.step.step_ms > 0)
    question.measured = StepOnOneGpu{options.step.step_ms / 1e3, *question.micro_batch};
  return question;
}

// A model that is split, as `plan` and `compare` price it.
int tell_split(const TrainOnOptions& options) {
  Machine machine = find_machine(options.on);
  apply_measured(machine, options.measured, nccl_settings(options.step.nccl));
  if (options.ranks) machine = with_gpus(std::move(machine), *options.ranks);
  machine.name = options.on;
  const auto question =
      split_question(options, checked_split(*options.split), static_cast<int>(machine.gpus.size()));
  const PlannedMachine planned{machine, make_plans(question, machine, 1)};
  Report report = plan_step_report(question, planned);
  show(report, options.json);
  if (options.html.empty()) return 0;
  auto page =
      plain_page("train", fmt::format("{} on {}", question.shape.name, options.on), std::move(report));
  page.topologies.push_back(drawn_topology(machine, Loads::of_nccl, question.nccl));
  write_html(options.html, std::move(page));
  return 0;
}

}  // namespace

int train_on_machine(const TrainOnOptions& options) {
  if (options.split && is_trace(options.model))
    throw ConfigError(
        "a trace holds how its model was split: leave --dp, --tp, --pp, --shard and what belongs to them "
        "out");
  if (is_sweep(options.on)) return tell(options, step_on_measured_wires(options));
  if (options.split && is_split(*options.split)) return tell_split(options);
  return tell(options, step_on_machine(options));
}

}  // namespace gradwire

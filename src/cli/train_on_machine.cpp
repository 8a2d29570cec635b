#include "cli/train_ways.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/compare_question.h"
#include "cli/flags.h"
#include "predict/compare/compare.h"
#include "predict/nccl/version.h"
#include "predict/step/on_machine.h"
#include "predict/step/recorded.h"
#include "predict/step/replay.h"
#include "report/compare/compare.h"
#include "report/page/timelines.h"
#include "report/page/topology.h"
#include "report/render.h"
#include "report/step_chart.h"

namespace gradwire {
namespace {

constexpr int kMostRanksDrawn = 16;  // ranks of a model are alike; a trace of thousands helps nobody

// What is told of a step beside its estimate.
struct Telling {
  std::string title;
  std::string problem;                    // empty: none
  std::string measured;                   // what that narrowed; empty: nothing was
  NcclSettings nccl = {};                 // what the environment tells it
  const Machine* machine = nullptr;       // null: its wires were measured
  std::optional<Timeline> timeline = {};  // absent: one step of ranks that are alike
};

// How long a step took for real.
std::optional<Seconds> real_step(const TrainOnOptions& options) {
  if (options.real.empty()) return std::nullopt;
  return breakdown(recorded_timeline(options.real)).step();
}

nlohmann::json result_json(const TrainOnOptions& options, const StepEstimate& estimate,
                           const Telling& telling) {
  nlohmann::json result = {{"model", options.model},
                           {"on", options.on},
                           {"ranks", estimate.ranks},
                           {"batch", estimate.batch},
                           {"samples_per_s", estimate.samples_per_s},
                           {"step_ms", estimate.step * 1e3},
                           {"loss_first", nullptr},
                           {"loss_last", nullptr},
                           {"scaling", estimate.scaling},
                           {"relative_error", estimate.relative_error},
                           {"breakdown_ms", breakdown_json(estimate.parts)}};
  // As in compare. How much was slowed is not known where every call was replayed.
  result["comm_total_ms"] = estimate.communication * 1e3;
  if (!telling.timeline) {
    result["comm_slowdown_ms"] = estimate.slowdown * 1e3;
    result["comm_cost_ms"] = estimate.communication_cost() * 1e3;
  }
  if (estimate.batch == 0)
    result["batch"] = result["samples_per_s"] = nullptr;  // of ranks that share a batch
  if (!options.trace.empty()) result["trace"] = options.trace;
  if (const auto real = real_step(options)) {
    result["real_step_ms"] = *real * 1e3;
    result["error"] = estimate.step / *real - 1;
  }
  result["warnings"] = nlohmann::json::array();
  if (!telling.problem.empty()) result["warnings"].push_back(telling.problem);
  result["assumed"] = telling.machine ? telling.machine->notes : std::vector<std::string>{};
  if (telling.machine)
    for (auto& note : nccl_notes(*telling.machine, telling.nccl)) result["assumed"].push_back(note);
  return result;
}

std::string machine_title(const TrainOnOptions& options, const Workload& workload,
                          const StepEstimate& estimate) {
  return fmt::format("{} on {} GPU{} of {}, simulated: {:.1f} ms a step, {:.1f} {}/s, scaling {:.0f} %",
                     workload.name, estimate.ranks, estimate.ranks == 1 ? "" : "s", options.on,
                     estimate.step * 1e3, estimate.samples_per_s, plural(workload.sample),
                     100 * estimate.scaling);
}

// What the environment tells NCCL there, and what of that it can't follow.
void add_nccl(Report& report, const Telling& telling) {
  if (!telling.machine) return;
  for (const auto& note :
       {find_environment_note(telling.nccl), find_unmet_note(*telling.machine, telling.nccl)})
    if (note) report.add(Sentence{*note, "     ", "     "});
}

Report simulated_report(const TrainOnOptions& options, const StepEstimate& estimate, const Telling& telling) {
  Report report;
  report.data = result_json(options, estimate, telling);
  if (telling.timeline)
    add_step(report, telling.title, estimate.parts);
  else
    add_predicted_step(report, telling.title, estimate);
  const std::string sent = telling.timeline
                               ? fmt::format("{:.1f} ms of communication", estimate.communication * 1e3)
                               : fmt::format("{} buckets, {:.1f} ms of all-reduce", estimate.buckets.size(),
                                             estimate.communication * 1e3);
  report.add(
      Sentence{fmt::format("{}; expect an error of {:.0f} %", sent, 100 * estimate.relative_error), "     "});
  if (const auto real = real_step(options))
    report.add(Sentence{fmt::format("really {:.1f} ms a step: the prediction is {:+.1f} % off", *real * 1e3,
                                    100 * (estimate.step / *real - 1)),
                        "     "});
  if (!telling.measured.empty()) report.add(Sentence{telling.measured, "     ", "     "});
  add_nccl(report, telling);
  if (!telling.problem.empty()) report.add(Gap{}, Sentence{"But " + telling.problem + "."});
  if (!options.trace.empty())
    report.add(Gap{}, Sentence{fmt::format("trace: {} (open it at ui.perfetto.dev)", options.trace)});
  return report;
}

// What was recorded, to be laid over the predicted step.
void add_recorded(const std::string& file, PageData& page) {
  auto fitted = drawn_timeline(recorded_timeline(file), file, Origin::measured);
  page.timelines.push_back(std::move(fitted.timeline));
  if (!fitted.note.empty()) page.report.add(Sentence{fitted.note});
}

int tell(const TrainOnOptions& options, const StepEstimate& estimate, const Telling& telling) {
  const Timeline timeline =
      telling.timeline ? *telling.timeline
                       : timeline_of(estimate, fmt::format("model: {} on {}", options.model, options.on),
                                     std::min(estimate.ranks, kMostRanksDrawn));
  if (!options.trace.empty()) write_timeline(options.trace, timeline);
  Report report = simulated_report(options, estimate, telling);
  show(report, options.json);
  if (options.html.empty()) return 0;
  PageData page = plain_page("train", fmt::format("{} on {}", options.model, options.on), std::move(report));
  page.timelines.push_back(drawn_timeline(timeline, options.on, Origin::predicted).timeline);
  page.timelines.back().world = estimate.ranks;
  if (!options.real.empty()) add_recorded(options.real, page);
  if (is_trace(options.model)) add_recorded(options.model, page);
  if (telling.machine)
    page.topologies.push_back(drawn_topology(*telling.machine, Loads::of_nccl, telling.nccl));
  write_html(options.html, std::move(page));
  return 0;
}

// What ranks computed that waited for each other is not what they would compute undisturbed.
std::string disturbance(const RecordedStep& recorded, const std::string& file) {
  const auto communication = recorded.parts.comm_overlapped + recorded.parts.comm_exposed;
  if (communication < 0.01 * recorded.parts.step()) return "";
  return fmt::format(
      "{} is of ranks that communicated, which slowed what they computed: record it with --backend none",
      file);
}

// A parallel step that was rehearsed, over wires that were measured.
int train_rehearsed(const TrainOnOptions& options, const Timeline& rehearsal) {
  const MeasuredCalls wires(read_sweep_files(options.on), options.backend);
  auto replayed = replay(rehearsal, wires);
  StepEstimate estimate;
  estimate.parts = breakdown(replayed.timeline);
  estimate.step = estimate.parts.step();
  estimate.ranks = rehearsal.ranks;
  estimate.batch = rehearsal.samples;
  estimate.samples_per_s = rehearsal.samples * rehearsal.ranks / estimate.step;
  estimate.communication = replayed.communication;
  estimate.scaling = breakdown(rehearsal).step() / estimate.step;
  estimate.relative_error = unsteadiness(replayed.timeline);
  return tell(
      options, estimate,
      {fmt::format("{} with {} ranks over {}, predicted: {:.1f} ms a step, {:.0f} % of it without a wait",
                   options.model, estimate.ranks, wires.backend(), estimate.step * 1e3,
                   100 * estimate.scaling),
       {},
       {},
       {},
       nullptr,
       std::move(replayed.timeline)});
}

// What one step computes and what its wires take, both as measured.
int train_on_measured_wires(const TrainOnOptions& options) {
  if (!is_trace(options.model))
    throw ConfigError(
        fmt::format("--on {0}: measured wires need a measured step: write `gradwire train {1} --backend none "
                    "--trace step.json`, "
                    "then `gradwire train step.json --on {0}`",
                    options.on, options.model));
  const auto timeline = read_timeline(options.model);
  if (is_rehearsal(timeline)) return train_rehearsed(options, timeline);
  const auto sweep = read_sweep(options.on, options.backend, options.ranks);
  const auto recorded = recorded_step(timeline, options.model);
  const auto problem = recorded_problem(recorded, measured_wires(sweep), !options.step.no_overlap);
  const auto estimate = solve(problem, recorded_constants(recorded));
  return tell(
      options, estimate,
      {fmt::format("{} with {} ranks over {}, predicted: {:.1f} ms a step, scaling {:.0f} %", options.model,
                   estimate.ranks, sweep.backend, estimate.step * 1e3, 100 * estimate.scaling),
       disturbance(recorded, options.model),
       {},
       {},
       nullptr});
}

}  // namespace

int train_on_machine(const TrainOnOptions& options) {
  if (is_sweep(options.on)) {
    if (!options.measured.empty()) throw ConfigError("--measured: --on is what was measured already");
    return train_on_measured_wires(options);
  }
  if (!options.backend.empty())
    throw ConfigError(fmt::format("--backend {} has no meaning with --on {}: a machine's model is NCCL's",
                                  options.backend, options.on));
  const auto question = question_of(options.model, options.step);
  Machine machine = find_machine(options.on);
  apply_measured(machine, options.measured, question.options.nccl);
  if (options.ranks) machine = with_gpus(std::move(machine), *options.ranks);
  const auto estimate = estimate_step(question.workload, machine, question.options);
  const auto misfit = find_misfit(question.workload, machine, question.options);
  return tell(options, estimate,
              {machine_title(options, question.workload, estimate),
               misfit ? to_words(*misfit) : question.warning,
               options.measured.empty() ? "" : machine.notes.back(), question.options.nccl, &machine});
}

}  // namespace gradwire

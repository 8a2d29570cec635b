#include "report/simulated.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/compare/compare.h"
#include "report/machine_notes.h"
#include "report/nccl_notes.h"
#include "report/page/timelines.h"
#include "report/page/topology.h"
#include "report/step_chart.h"

namespace gradwire {
namespace {

constexpr int kMostRanksDrawn = 16;      // ranks of a model are alike; a trace of thousands helps nobody
constexpr const char* kAside = "     ";  // below the chart

std::optional<Seconds> real_time(const SimulatedStep& step) {
  if (!step.real) return std::nullopt;
  return breakdown(step.real->timeline).step();
}

// As a clause; empty: nothing speaks against it.
std::string objection(const SimulatedStep& step) {
  if (step.misfit) return to_words(*step.misfit);
  if (!step.disturbed) return step.warning;
  return fmt::format(
      "{} is of ranks that communicated, which slowed what they computed: record it with --backend none",
      step.model);
}

nlohmann::json assumed_json(const SimulatedStep& step) {
  nlohmann::json assumed = nlohmann::json::array();
  if (!step.machine) return assumed;
  const auto& [machine, workload, sample, nccl] = *step.machine;
  for (const auto& note : all_notes(machine)) assumed.push_back(note);
  for (const auto& note : nccl_notes(machine, nccl)) assumed.push_back(note);
  return assumed;
}

nlohmann::json simulated_json(const SimulatedStep& step) {
  const StepEstimate& estimate = step.estimate;
  nlohmann::json result = {{"model", step.model},
                           {"on", step.on},
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
  if (!step.replayed) {
    result["comm_slowdown_ms"] = estimate.slowdown * 1e3;
    result["comm_cost_ms"] = estimate.communication_cost() * 1e3;
  }
  if (estimate.batch == 0)
    result["batch"] = result["samples_per_s"] = nullptr;  // of ranks that share a batch
  if (!step.trace.empty()) result["trace"] = step.trace;
  if (const auto real = real_time(step)) {
    result["real_step_ms"] = *real * 1e3;
    result["error"] = estimate.step / *real - 1;
  }
  result["warnings"] = nlohmann::json::array();
  if (const auto against = objection(step); !against.empty()) result["warnings"].push_back(against);
  result["assumed"] = assumed_json(step);
  return result;
}

std::string title_of(const SimulatedStep& step) {
  const StepEstimate& estimate = step.estimate;
  if (step.machine)
    return fmt::format("{} on {} of {}, simulated: {:.1f} ms a step, {:.1f} {}/s, scaling {:.0f} %",
                       step.machine->workload, counted_gpus(estimate.ranks), step.on, estimate.step * 1e3,
                       estimate.samples_per_s, plural(step.machine->sample), 100 * estimate.scaling);
  const auto predicted = fmt::format("{} with {} ranks over {}, predicted: {:.1f} ms a step", step.model,
                                     estimate.ranks, step.backend, estimate.step * 1e3);
  const double percent = 100 * estimate.scaling;
  return predicted + (step.replayed ? fmt::format(", {:.0f} % of it without a wait", percent)
                                    : fmt::format(", scaling {:.0f} %", percent));
}

std::string sent_text(const SimulatedStep& step) {
  const double ms = step.estimate.communication * 1e3;
  if (step.replayed) return fmt::format("{:.1f} ms of communication", ms);
  return fmt::format("{} buckets, {:.1f} ms of all-reduce", step.estimate.buckets.size(), ms);
}

// What was measured there, what the environment tells NCCL, and what of that it can't follow.
void add_machine_notes(Report& report, const SimulatedOn& on) {
  if (on.machine.measured) report.add(Sentence{to_words(*on.machine.measured), kAside, kAside});
  for (const auto& note : {find_environment_note(on.nccl), find_unmet_note(on.machine, on.nccl)})
    if (note) report.add(Sentence{*note, kAside, kAside});
}

// What was recorded, to be laid over the predicted step.
void add_recorded(const RecordedRun& run, PageData& page) {
  auto fitted = drawn_timeline(run.timeline, run.file, Origin::measured);
  page.timelines.push_back(std::move(fitted.timeline));
  if (!fitted.note.empty()) page.report.add(Sentence{fitted.note});
}

}  // namespace

Timeline timeline_of(const SimulatedStep& step) {
  if (step.replayed) return *step.replayed;
  return timeline_of(step.estimate, fmt::format("model: {} on {}", step.model, step.on),
                     std::min(step.estimate.ranks, kMostRanksDrawn));
}

Report simulated_report(const SimulatedStep& step) {
  Report report;
  report.data = simulated_json(step);
  if (step.replayed)
    add_step(report, title_of(step), step.estimate.parts);
  else
    add_predicted_step(report, title_of(step), step.estimate);
  report.add(Sentence{fmt::format("{}; {} {:.0f} %", sent_text(step),
                                  step.replayed ? "expect an error of" : "eight of ten such steps are within",
                                  100 * step.estimate.relative_error),
                      kAside});
  if (const auto real = real_time(step))
    report.add(Sentence{fmt::format("really {:.1f} ms a step: the prediction is {:+.1f} % off", *real * 1e3,
                                    100 * (step.estimate.step / *real - 1)),
                        kAside});
  if (step.machine) add_machine_notes(report, *step.machine);
  if (const auto against = objection(step); !against.empty())
    report.add(Gap{}, Sentence{"But " + against + "."});
  if (!step.trace.empty())
    report.add(Gap{}, Sentence{fmt::format("trace: {} (open it at ui.perfetto.dev)", step.trace)});
  return report;
}

PageData simulated_page(const SimulatedStep& step, Report report, const std::vector<RecordedRun>& recorded) {
  PageData page = plain_page("train", fmt::format("{} on {}", step.model, step.on), std::move(report));
  page.timelines.push_back(drawn_timeline(timeline_of(step), step.on, Origin::predicted).timeline);
  page.timelines.back().world = step.estimate.ranks;
  if (step.real) add_recorded(*step.real, page);
  for (const RecordedRun& run : recorded) add_recorded(run, page);
  if (step.machine)
    page.topologies.push_back(drawn_topology(step.machine->machine, Loads::of_nccl, step.machine->nccl));
  return page;
}

}  // namespace gradwire

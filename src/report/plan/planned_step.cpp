#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/machine_notes.h"
#include "report/plan/plan.h"
#include "report/step_chart.h"
#include "report/topo/topo.h"

// A step of a model that is split, predicted where `train` would have run it.
namespace gradwire {
namespace {

// As a run is taken apart. Stages that wait for each other are in `other`: no link makes them wait less.
Breakdown breakdown_of(const PlannedStep& plan) {
  const auto& parts = plan.parts;
  Seconds sent = 0, shown = 0;
  for (const auto& traffic : plan.traffic) sent += traffic.time, shown += traffic.shown;
  return {.forward = parts.forward,
          .backward = parts.compute - parts.forward + parts.again,
          .comm_overlapped = std::max(0.0, sent - shown),
          .comm_exposed = parts.communication(),
          .optimizer = parts.optimizer + parts.host,
          .other = parts.bubble + parts.other};
}

nlohmann::json planned_step_json(const PlanQuestion& question, const PlannedMachine& machine) {
  const auto& plan = machine.best();
  const auto parts = breakdown_of(plan);
  return {{"model", question.shape.name},
          {"on", machine.on()},
          {"ranks", machine.gpus()},
          {"batch", plan.layout.micro_batch},
          {"precision", name_of(plan.layout.precision)},
          {"samples_per_s", plan.samples_per_s},
          {"step_ms", plan.step * 1e3},
          {"low_ms", plan.low * 1e3},
          {"high_ms", plan.high * 1e3},
          {"loss_first", nullptr},
          {"loss_last", nullptr},
          {"scaling", 1 - plan.parts.communication() / plan.step},
          {"bubble_ms", plan.parts.bubble * 1e3},
          {"breakdown_ms", breakdown_json(parts)},
          {"comm_total_ms", (parts.comm_overlapped + parts.comm_exposed) * 1e3},
          {"plan", plan_json(plan)},
          {"warnings", advice_of(question, machine)},
          {"assumed", all_notes(machine.machine)}};
}

// "dp 2 x tp 2 x pp 2, micro-batches of 4, 4 a step, bf16; eight of ten such runs take 40 ms to 60 ms"
std::string layout_sentence(const PlannedStep& plan) {
  const auto& layout = plan.layout;
  auto text = fmt::format("{}{}, micro-batches of {}, {} a step, {}; eight of ten such runs take {} to {}",
                          describe(layout), layout.sequence_parallel ? ", sequence-parallel" : "",
                          layout.micro_batch, layout.micro_batches, name_of(layout.precision),
                          format_seconds(plan.low), format_seconds(plan.high));
  if (plan.parts.bubble > 0)
    text += fmt::format("; of other, stages wait {} for each other", format_seconds(plan.parts.bubble));
  return text;
}

}  // namespace

Report plan_step_report(const PlanQuestion& question, const PlannedMachine& machine) {
  const auto& plan = machine.best();
  Report report;
  report.data = planned_step_json(question, machine);
  add_step(
      report,
      fmt::format("{} on {} of {}, simulated: {} a step, {:.4g} sequences/s", question.shape.name,
                  counted_gpus(machine.gpus()), machine.on(), format_seconds(plan.step), plan.samples_per_s),
      breakdown_of(plan));
  report.add(Sentence{layout_sentence(plan), "     ", "     "});
  if (const auto measured = measured_computing(question, plan); !measured.empty())
    report.add(Sentence{measured, "     ", "     "});
  if (question.shape.moe() && !question.expert_parallel)
    report.add(
        Sentence{fmt::format("ep, how many GPUs experts are spread over, was left open: {} is the best",
                             plan.layout.expert_parallel),
                 "     ", "     "});
  for (const auto& advice : advice_of(question, machine))
    report.add(Gap{}, Sentence{"But " + advice + ".", "", "  "});
  add_memory_and_traffic(report, machine);
  add_notes(report, all_notes(machine.machine));
  add_nccl_environment(report, question.nccl);
  return report;
}

}  // namespace gradwire

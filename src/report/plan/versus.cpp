#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "report/machine_notes.h"
#include "report/plan/judged.h"
#include "report/plan/plan.h"

// `compare` of a layout that DistributedDataParallel alone is not: the same answer in the same words and names.
namespace gradwire {
namespace {

constexpr std::size_t kMostOfAName = 29;  // in a table

nlohmann::json answer_json(const JudgedPlans& judged) {
  const auto& gain = judged.gain;
  const auto reason = judged.misfit.empty() ? judged.reason : judged.misfit + "; " + judged.reason;
  return {{"verdict", name_of(verdict_of(gain))},
          {"speedup", gain.speedup},
          {"low", gain.low},
          {"high", gain.high},
          {"certain", is_certain(gain) && judged.misfit.empty()},
          {"sure", name_of(judged.sure)},
          {"hours_saved_per_day", hours_saved(gain)},
          {"better", judged.better},
          {"worse", judged.worse},
          {"fits", judged.misfit.empty()},
          {"reason", reason},
          {"sentence", judged.sentence}};
}

nlohmann::json contender_json(const PlannedMachine& machine) {
  const auto& plan = machine.best();
  const auto most = std::ranges::max_element(plan.traffic, {}, &PlanTraffic::time);
  return {{"on", machine.on()},
          {"step_ms", 1e3 * plan.step},
          {"samples_per_s", plan.samples_per_s},
          {"batch", machine.answer.batch},
          {"comm_exposed_ms", 1e3 * plan.parts.communication()},
          {"recompute_ms", 1e3 * plan.parts.again},
          {"scaling", 1 - plan.parts.communication() / plan.step},
          {"narrowest_link", most == plan.traffic.end() ? "none" : path_name(most->way)},
          {"algorithm", describe(plan.layout)},
          {"nvlink_speedup", plan.nvlink_speedup ? nlohmann::json(*plan.nvlink_speedup) : nlohmann::json()},
          {"low_ms", 1e3 * plan.low},
          {"high_ms", 1e3 * plan.high},
          {"shard", plan.layout.shard},
          {"recompute", name_of(plan.layout.recompute)},
          {"micro_batch", plan.layout.micro_batch},
          {"accumulate", plan.layout.micro_batches},
          {"assumed", all_notes(machine.machine)},
          {"fits", plan.fits},
          {"memory_gib", plan.memory.total() / (1 << 30)}};
}

std::string plan_in_words(const ParallelLayout& layout) {
  return fmt::format("{}, {} x {} sequence{}", describe(layout), layout.micro_batches, layout.micro_batch,
                     layout.micro_batch == 1 ? "" : "s");
}

// Plans below it: they are longer than what names leave of a line.
void add_contenders(Report& report, const std::vector<PlannedMachine>& machines) {
  Table table{.rows = {{"on", "step", "seq/s", "communication", "bubble", "GiB"}}};
  for (const auto& machine : machines) {
    const auto& plan = machine.best();
    table.rows.push_back({machine.on().substr(0, kMostOfAName), format_seconds(plan.step),
                          fmt::format("{:.4g}", plan.samples_per_s), time_or_none(plan.parts.communication()),
                          time_or_none(plan.parts.bubble),
                          fmt::format("{:.1f}{}", plan.memory.total() / (1 << 30), plan.fits ? "" : "!")});
  }
  report.add(Gap{}, std::move(table));
  for (const auto& machine : machines)
    report.add(Sentence{fmt::format("{}: {}", machine.on(), plan_in_words(machine.best().layout)), "", "  "});
}

// The flags that would have settled what was searched over.
std::vector<std::string> left_open(const PlanQuestion& question,
                                   const std::vector<PlannedMachine>& machines) {
  const int asked = question.dp.value_or(1) * question.tp.value_or(1) * question.pp.value_or(1);
  const bool divided = std::ranges::all_of(machines, [&](const auto& one) { return one.gpus() == asked; });
  std::vector<std::string> flags;
  const auto add = [&](bool open, const char* flag) {
    if (open) flags.emplace_back(flag);
  };
  add(!divided && !question.dp, "--dp");
  add(!divided && !question.tp, "--tp");
  add(!divided && !question.pp, "--pp");
  add(!question.shard, "--shard");
  add(!question.micro_batch, "--micro-batch");
  add(!question.recompute, "--recompute");
  const bool staged =
      std::ranges::any_of(machines, [](const auto& one) { return one.best().layout.mesh.pp > 1; });
  add(staged && !question.virtual_stages, "--chunks");
  add(question.shape.moe() && !question.expert_parallel, "--ep");
  return flags;
}

// Once where all machines have it, else with its machine.
void add_assumptions(Report& report, const std::vector<PlannedMachine>& machines) {
  std::map<std::string, std::size_t> times;
  for (const auto& machine : machines)
    for (const auto& note : all_notes(machine.machine)) ++times[note];
  if (!times.empty()) report.add(Gap{}, Title{"Note"});
  for (const auto& machine : machines)
    for (const auto& note : all_notes(machine.machine)) {
      const bool of_all = times[note] == machines.size();
      if (of_all && &machine != &machines.front()) continue;
      report.add(Sentence{of_all ? note : fmt::format("{}: {}", machine.on(), note), "  - ", "    "});
    }
}

std::string heading(const PlanQuestion& question, const std::vector<PlannedMachine>& machines) {
  const auto& first = machines.front();
  return fmt::format("{}, {:g} sequence{} of {} tokens a GPU and step, {}", question.shape.name,
                     double(first.answer.batch) / first.gpus(), first.answer.batch == first.gpus() ? "" : "s",
                     question.shape.sequence, precision_words(question, question.precision));
}

}  // namespace

Report plan_comparison(const PlanQuestion& question, const std::vector<PlannedMachine>& machines) {
  Report report;
  auto list = nlohmann::json::array();
  for (const auto& machine : machines) list.push_back(contender_json(machine));
  const auto judged = judge_machines(question, machines);
  const auto open = left_open(question, machines);
  report.add(Title{heading(question, machines)});
  report.add(Sentence{judged.sentence});
  add_contenders(report, machines);
  if (!open.empty())
    report.add(Sentence{"Taken at its best on each machine, since not asked for: " + join(open, ", ") + "."});
  for (const auto& machine : machines)
    for (const auto& advice : advice_of(question, machine))
      report.add(Sentence{fmt::format("{}: {}.", machine.on(), advice), "", "  "});
  const auto measured = measured_computing(question, machines.front().best());
  report.add(
      Sentence{measured.empty()
                   ? "Computing as with fused attention and kernels as large as they get, where `compare` "
                     "without a split takes plain PyTorch: give --step-ms, a step measured on one GPU "
                     "(docs/parallel.md)."
                   : measured});
  add_assumptions(report, machines);
  add_nccl_environment(report, question.nccl);
  report.data = {{"answer", answer_json(judged)},
                 {"precision", name_of(question.precision)},
                 {"precision_assumed", question.precision_assumed},
                 {"left_open", open},
                 {"machines", list}};
  return report;
}

}  // namespace gradwire

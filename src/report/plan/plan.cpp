#include "report/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/machine_notes.h"
#include "report/nccl_notes.h"
#include "report/topo/topo.h"

namespace gradwire {
namespace {

constexpr double kGib = 1 << 30;

std::string gibibytes(double bytes) { return fmt::format("{:.1f}", bytes / kGib); }

std::string times_text(const std::optional<double>& factor) {
  return factor ? fmt::format("{:.2f}x", *factor) : std::string("-");
}

nlohmann::json memory_json(const PlanMemory& memory) {
  nlohmann::json items = nlohmann::json::object();
  for (const auto& [name, bytes] : memory.items()) items[name] = bytes / kGib;
  return items;
}

nlohmann::json traffic_json(const PlannedStep& plan) {
  auto list = nlohmann::json::array();
  for (const auto& traffic : plan.traffic)
    list.push_back({{"what", what_is_sent(traffic)},
                    {"links", path_name(traffic.way)},
                    {"time_ms", 1e3 * traffic.time},
                    {"shown_ms", 1e3 * traffic.shown}});
  return list;
}

nlohmann::json machine_json(const PlanQuestion& question, const PlannedMachine& machine) {
  auto plans = nlohmann::json::array();
  for (const auto& plan : machine.answer.plans) plans.push_back(plan_json(plan));
  return {{"on", machine.on()},
          {"gpus", machine.gpus()},
          {"assumed", all_notes(machine.machine)},
          {"batch", machine.answer.batch},
          {"precision", name_of(machine.best().layout.precision)},
          {"candidates", machine.answer.candidates},
          {"fitting", machine.answer.fitting},
          {"usable_gib", machine.answer.usable_bytes / kGib},
          {"advice", advice_of(question, machine)},
          {"plans", plans}};
}

// `experts`: of a mixture of them.
std::vector<std::string> cells_of(const PlannedStep& plan, bool experts) {
  const auto& layout = plan.layout;
  std::vector<std::string> cells{fmt::to_string(layout.mesh.dp), fmt::to_string(layout.mesh.tp),
                                 fmt::to_string(layout.mesh.pp)};
  if (layout.virtual_stages > 1) cells.back() += fmt::format("x{}", layout.virtual_stages);
  if (experts) cells.push_back(fmt::to_string(layout.expert_parallel));
  for (const int size : {layout.shard, layout.micro_batch, layout.micro_batches})
    cells.push_back(fmt::to_string(size));
  for (const auto& text :
       {std::string(name_of(layout.recompute)), format_seconds(plan.step),
        fmt::format("{:.4g}", plan.samples_per_s), gibibytes(plan.memory.total()) + (plan.fits ? "" : "!"),
        times_text(plan.nvlink_speedup)})
    cells.push_back(text);
  return cells;
}

Table plans_table(const PlanAnswer& answer, bool experts) {
  std::vector<std::string> heading{"dp", "tp", "pp"};
  if (experts) heading.emplace_back("ep");
  for (const char* name : {"shard", "micro", "accum", "recompute", "step", "seq/s", "GiB", "NVLink"})
    heading.emplace_back(name);
  Table table{.rows = {heading}, .left = 0};
  for (const auto& plan : answer.plans) table.rows.push_back(cells_of(plan, experts));
  return table;
}

Table memory_table(const PlannedStep& plan, double usable) {
  Table table{.rows = {{"a GPU holds", "GiB"}}};
  for (const auto& [name, bytes] : plan.memory.items()) table.rows.push_back({name, gibibytes(bytes)});
  table.rows.push_back({"in all, of " + gibibytes(usable), gibibytes(plan.memory.total())});
  return table;
}

Table traffic_table(const PlannedStep& plan) {
  Table table{.rows = {{"sends", "over", "a step", "of it shows"}}, .left = 2};
  for (const auto& traffic : plan.traffic)
    table.rows.push_back({what_is_sent(traffic), path_name(traffic.way), time_or_none(traffic.time),
                          time_or_none(traffic.shown)});
  return table;
}

// How wide what a GPU holds is, since it differs between stages of sharding and between precisions.
std::string widths(const ParallelLayout& layout) {
  auto text =
      fmt::format("Of a parameter, before it is sharded: {} B of weight, {} of gradient, {} of state of Adam",
                  number_bytes(layout.precision), layout.gradient_bytes, layout.state_bytes);
  if (layout.state_bytes > 8) text += ", with a 32-bit copy";
  return text + (layout.gradient_bytes < 4 ? ". Gradients are joined in 16 bits with shard 3 alone." : ".");
}

std::string nvlink_sentence(const PlannedMachine& machine) {
  const auto& plan = machine.best();
  if (plan.layout.ranks() == 1) return "One GPU sends nothing.";
  if (!plan.nvlink_speedup && has_nvlink(machine.machine))
    return "There is no other way than NVLink between these GPUs.";
  if (!plan.nvlink_speedup) return "Here NVLink joins no GPUs, and could join none.";
  const double worth = *plan.nvlink_speedup;
  if (worth < 1.03) return fmt::format("NVLink makes no difference to this plan ({:.2f}x).", worth);
  return fmt::format("With NVLink this plan is {:.2f} times as fast as without.", worth);
}

void add_machine(Report& report, const PlanQuestion& question, const PlannedMachine& machine) {
  const auto& best = machine.best();
  report.add(Title{fmt::format("{} on {}: {}, {} sequence{} of {} token{} a step, {}", question.shape.name,
                               machine.on(), counted_gpus(machine.gpus()), machine.answer.batch,
                               machine.answer.batch == 1 ? "" : "s", question.shape.sequence,
                               question.shape.sequence == 1 ? "" : "s",
                               precision_words(question, best.layout.precision))});
  for (const auto& advice : advice_of(question, machine)) report.add(Sentence{advice + ".", "", "  "});
  if (machine.answer.fitting > 0)
    report.add(Sentence{fmt::format(
        "Best: {}, micro-batches of {}, {} a step: {} ({} to {} with 80 % odds), {:.4g} "
        "sequences/s. {}",
        describe(best.layout), best.layout.micro_batch, best.layout.micro_batches, format_seconds(best.step),
        format_seconds(best.low), format_seconds(best.high), best.samples_per_s, nvlink_sentence(machine))});
  if (const auto measured = measured_computing(question, best); !measured.empty())
    report.add(Sentence{measured});
  report.add(Gap{}, plans_table(machine.answer, question.shape.moe()));
  report.add(Sentence{fmt::format(
      "{} layout{} priced, {} fit; the best of each tp, pp and shard is shown. NVLink: "
      "step without over step with it. !: does not fit.",
      machine.answer.candidates, machine.answer.candidates == 1 ? "" : "s", machine.answer.fitting)});
  add_memory_and_traffic(report, machine);
  add_notes(report, all_notes(machine.machine));
}

// Which of several machines is the quickest, and by how much.
void add_contest(Report& report, const std::vector<PlannedMachine>& machines) {
  std::vector<const PlannedMachine*> fitting;
  for (const auto& machine : machines)
    if (machine.answer.fitting > 0) fitting.push_back(&machine);
  if (machines.size() < 2 || fitting.empty()) return;
  const auto pace = [](const PlannedMachine* machine) { return machine->best().samples_per_s; };
  std::sort(fitting.begin(), fitting.end(), [&](const auto* a, const auto* b) { return pace(a) > pace(b); });
  if (fitting.size() == 1)
    report.add(Gap{}, Sentence{fmt::format("It fits {} alone.", fitting[0]->on())});
  else
    report.add(Gap{},
               Sentence{fmt::format("{} gets {:.2f} times as much done as {}, each with its best plan.",
                                    fitting.front()->on(), pace(fitting.front()) / pace(fitting.back()),
                                    fitting.back()->on())});
}

}  // namespace

std::vector<PlannedMachine> renamed(std::vector<PlannedMachine> machines,
                                    const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < machines.size(); ++i) machines[i].machine.name = names[i];
  return machines;
}

std::vector<std::string> advice_of(const PlanQuestion& question, const PlannedMachine& machine) {
  const auto& [plans, candidates, fitting, batch, usable, would_fit] = machine.answer;
  if (!would_fit) return {};
  const auto& least = plans.front();
  std::vector<std::string> advice = {fmt::format(
      "{} does not fit: the least is {} GiB a GPU ({}), of which {} GiB can be used", question.shape.name,
      gibibytes(least.memory.total()), describe(least.layout), gibibytes(usable))};
  if (would_fit->offloaded)
    advice.push_back(fmt::format(
        "with the optimizer's state in host memory ({}) it takes {} GiB, and {} GiB of a node's host memory",
        question.flags.offload, gibibytes(*would_fit->offloaded), gibibytes(would_fit->host)));
  if (!would_fit->nodes) {
    advice.push_back(
        fmt::format("{} such nodes do not hold it: a GPU with more memory is needed", kMostNodesTried));
    return advice;
  }
  const bool sizes_given = question.dp || question.tp || question.pp;
  advice.push_back(fmt::format("it fits {} such nodes of {}{}", *would_fit->nodes,
                               counted_gpus(machine.machine.gpus_per_node()),
                               sizes_given ? ", with dp, tp and pp left open" : ""));
  return advice;
}

std::string what_is_sent(const PlanTraffic& traffic) {
  switch (traffic.kind) {
    case TrafficKind::tensor:
      return "tensor parallelism";
    case TrafficKind::pipeline:
      return "pipeline";
    case TrafficKind::experts:
      return "experts";
    case TrafficKind::replicas:
      break;
  }
  return traffic.gathers ? "parameters and gradients" : "gradients";
}

std::string time_or_none(Seconds time) { return time > 0 ? format_seconds(time) : "none"; }

void add_nccl_environment(Report& report, const NcclSettings& settings) {
  if (auto note = find_environment_note(settings)) report.add(Sentence{std::move(*note)});
}

std::string precision_words(const PlanQuestion& question, Precision precision) {
  return fmt::format("{}{}", name_of(precision), question.precision_assumed ? " (no --precision given)" : "");
}

std::string measured_computing(const PlanQuestion& question, const PlannedStep& plan) {
  if (!question.measured || !plan.layout.pace) return {};
  const auto& [step, batch] = *question.measured;
  return fmt::format("Computing as measured, {} for {} sequence{} on one GPU: {:.2f} times the estimate.",
                     format_seconds(step), batch, batch == 1 ? "" : "s", *plan.layout.pace);
}

nlohmann::json plan_json(const PlannedStep& plan) {
  const auto& layout = plan.layout;
  return {{"dp", layout.mesh.dp},
          {"tp", layout.mesh.tp},
          {"pp", layout.mesh.pp},
          {"ep", layout.expert_parallel},
          {"virtual_stages", layout.virtual_stages},
          {"shard", layout.shard},
          {"sequence_parallel", layout.sequence_parallel},
          {"micro_batch", layout.micro_batch},
          {"accumulate", layout.micro_batches},
          {"recompute", name_of(layout.recompute)},
          {"step_ms", 1e3 * plan.step},
          {"low_ms", 1e3 * plan.low},
          {"high_ms", 1e3 * plan.high},
          {"samples_per_s", plan.samples_per_s},
          {"memory_gib", plan.memory.total() / kGib},
          {"memory", memory_json(plan.memory)},
          {"host_memory_gib", plan.memory.host / kGib},
          {"bytes_per_parameter",
           {{"weights", number_bytes(layout.precision)},
            {"gradients", layout.gradient_bytes},
            {"optimizer", layout.state_bytes}}},
          {"pace", layout.pace ? nlohmann::json(*layout.pace) : nlohmann::json()},
          {"fits", plan.fits},
          {"nvlink_speedup", plan.nvlink_speedup ? nlohmann::json(*plan.nvlink_speedup) : nlohmann::json()},
          {"communication", traffic_json(plan)}};
}

void add_memory_and_traffic(Report& report, const PlannedMachine& machine) {
  const auto& best = machine.best();
  report.add(Gap{}, memory_table(best, machine.answer.usable_bytes), Sentence{widths(best.layout)});
  if (best.memory.host > 0)
    report.add(Sentence{fmt::format("Host memory of a node holds up to {} GiB of optimizer state.",
                                    gibibytes(best.memory.host * machine.machine.gpus_per_node()))});
  if (!best.traffic.empty()) report.add(Gap{}, traffic_table(best));
}

Report plan_report(const PlanQuestion& question, const std::vector<PlannedMachine>& machines) {
  Report report;
  auto list = nlohmann::json::array();
  for (const auto& machine : machines) {
    if (!list.empty()) report.add(Gap{});
    add_machine(report, question, machine);
    list.push_back(machine_json(question, machine));
  }
  add_contest(report, machines);
  add_nccl_environment(report, question.nccl);
  report.data = {{"model", question.shape.name},
                 {"parameters", parameter_count(question.shape)},
                 {"precision", list.front()["precision"]},
                 {"precision_assumed", question.precision_assumed},
                 {"sequence", question.shape.sequence},
                 {"plans", list.front()["plans"]},
                 {"machines", list}};
  return report;
}

}  // namespace gradwire

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "predict/compare/plan_gain.h"
#include "report/plan/plan.h"

// `compare` of a layout that DistributedDataParallel alone is not: the same answer in the same words and names.
namespace gradwire {
namespace {

constexpr double kWorthNaming = 0.1;  // of the difference of two steps, from which on a part is named

struct Pair {
  const PlannedMachine &better, &worse;
};

// A part of a step, or of what a sequence takes of it, on both.
struct PartOfBoth {
  std::string name;
  Seconds better = 0, worse = 0;
  std::string more = {};  // in brackets
  Seconds less() const { return worse - better; }
};

const PlanTraffic* most_shown(const PlannedStep& plan) {
  const auto most = std::ranges::max_element(plan.traffic, {}, &PlanTraffic::shown);
  return most == plan.traffic.end() ? nullptr : &*most;
}

// "gradients over NVLink instead of host memory"
std::string ways_of(const Pair& pair) {
  const auto *here = most_shown(pair.better.best()), *there = most_shown(pair.worse.best());
  if (there == nullptr) return "";
  const auto way = fmt::format("{} over {}", there->what, there->path);
  if (here == nullptr || (here->what == there->what && here->path == there->path)) return way;
  if (here->what == there->what)
    return fmt::format("{} over {} instead of {}", here->what, here->path, there->path);
  return fmt::format("{} over {} instead of {}", here->what, here->path, way);
}

bool same_batch(const Pair& pair) { return pair.better.answer.batch == pair.worse.answer.batch; }

std::vector<PartOfBoth> parts_of(const Pair& pair) {
  const auto &a = pair.better.best(), &b = pair.worse.best();
  const double here = same_batch(pair) ? 1 : a.layout.sequences(),
               there = same_batch(pair) ? 1 : b.layout.sequences();
  std::vector<PartOfBoth> parts;
  const auto add = [&](const char* name, Seconds of_a, Seconds of_b, std::string more = {}) {
    parts.push_back({name, of_a / here, of_b / there, std::move(more)});
  };
  add("computing", a.parts.compute, b.parts.compute);
  add("recomputation", a.parts.again, b.parts.again);
  add("communication", a.parts.communication(), b.parts.communication(), ways_of(pair));
  add("stages that wait", a.parts.bubble, b.parts.bubble);
  add("the optimizer", a.parts.optimizer, b.parts.optimizer);
  add("traffic with host memory", a.parts.host, b.parts.host);
  add("what is between micro-batches", a.parts.other, b.parts.other);
  return parts;
}

std::string in_words(const PartOfBoth& part) {
  const auto text =
      fmt::format("{} {} instead of {}", part.name, time_or_none(part.better), time_or_none(part.worse));
  return part.more.empty() ? text : fmt::format("{} ({})", text, part.more);
}

// What carries the difference: every part that is a tenth of it, the largest first.
std::string what_differs(const Pair& pair) {
  auto parts = parts_of(pair);
  Seconds less = 0;
  for (const auto& part : parts) less += part.less();
  std::ranges::stable_sort(parts, std::greater{}, [](const auto& part) { return std::abs(part.less()); });
  std::vector<std::string> named;
  for (const auto& part : parts)
    if (std::abs(part.less()) >= kWorthNaming * less) named.push_back(in_words(part));
  return fmt::format("a {} takes {} less: {}", same_batch(pair) ? "step" : "sequence", format_seconds(less),
                     join(named, ", "));
}

std::string largest_traffic(const PlannedMachine& machine) {
  const auto& plan = machine.best();
  const auto* most = most_shown(plan);
  if (most == nullptr) return "nothing is sent";
  return fmt::format("of a step of {} on {}, {} over {} shows {}", format_seconds(plan.step), machine.on(),
                     most->what, most->path, time_or_none(most->shown));
}

std::string reason_of(const Pair& pair, const PlanGain& gain) {
  auto reason = verdict_of(gain) == Verdict::helps ? what_differs(pair) : largest_traffic(pair.worse);
  if (!gain.other_slots.empty() && std::abs(gain.in_other_slots / gain.speedup - 1) > kMatters)
    reason += fmt::format("; {} {:.2f}x", gain.other_slots, gain.in_other_slots);
  return reason;
}

std::string sentence_of(const Pair& pair, const PlanGain& gain, const std::string& reason) {
  const auto range = fmt::format("({:.2f} to {:.2f})", gain.low, gain.high);
  const auto sure = how_sure(gain);
  const auto* doubt = sure == Sure::yes ? "" : sure == Sure::probably ? "Probably " : "It can't be told: ";
  if (verdict_of(gain) == Verdict::helps)
    return fmt::format("{}{} is {:.2f} times as fast as {} {}, {} {}.", doubt, pair.better.on(), gain.speedup,
                       pair.worse.on(), range, sure == Sure::cant_tell ? "where" : "because", reason);
  return fmt::format("{}{} and {} make no difference {}: {}.", doubt, pair.better.on(), pair.worse.on(),
                     range, reason);
}

nlohmann::json answer_json(const PlanGain& gain, const std::string& reason) {
  return {{"verdict", to_string(verdict_of(gain))},
          {"speedup", gain.speedup},
          {"low", gain.low},
          {"high", gain.high},
          {"sure", to_string(how_sure(gain))},
          {"reason", reason}};
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
          {"narrowest_link", most == plan.traffic.end() ? "none" : most->path},
          {"algorithm", describe(plan.layout)},
          {"shard", plan.layout.shard},
          {"recompute", to_string(plan.layout.recompute)},
          {"micro_batch", plan.layout.micro_batch},
          {"accumulate", plan.layout.micro_batches},
          {"assumed", machine.machine.notes},
          {"fits", plan.fits},
          {"memory_gib", plan.memory.total() / (1 << 30)}};
}

std::string plan_in_words(const ParallelLayout& layout) {
  return fmt::format("{}, {} x {} sequence{}", describe(layout), layout.micro_batches, layout.micro_batch,
                     layout.micro_batch == 1 ? "" : "s");
}

Table contenders_table(const std::vector<PlannedMachine>& machines) {
  Table table{.rows = {{"on", "step", "seq/s", "communication", "bubble", "GiB", "plan"}},
              .left = 1,
              .prose_last = true};
  for (const auto& machine : machines) {
    const auto& plan = machine.best();
    table.rows.push_back({machine.on(), format_seconds(plan.step), fmt::format("{:.4g}", plan.samples_per_s),
                          time_or_none(plan.parts.communication()), time_or_none(plan.parts.bubble),
                          fmt::format("{:.1f}{}", plan.memory.total() / (1 << 30), plan.fits ? "" : "!"),
                          plan_in_words(plan.layout)});
  }
  return table;
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
  return flags;
}

// Once where all machines have it, else with its machine.
void add_assumptions(Report& report, const std::vector<PlannedMachine>& machines) {
  std::map<std::string, std::size_t> times;
  for (const auto& machine : machines)
    for (const auto& note : machine.machine.notes) ++times[note];
  if (!times.empty()) report.add(Gap{}, Title{"Note"});
  for (const auto& machine : machines)
    for (const auto& note : machine.machine.notes) {
      const bool of_all = times[note] == machines.size();
      if (of_all && &machine != &machines.front()) continue;
      report.add(Sentence{of_all ? note : fmt::format("{}: {}", machine.on(), note), "  - ", "    "});
    }
}

std::string heading(const PlanQuestion& question, const std::vector<PlannedMachine>& machines) {
  const auto& first = machines.front();
  return fmt::format("{}, {:g} sequence{} of {} tokens a GPU and step, {}", question.shape.name,
                     double(first.answer.batch) / first.gpus(), first.answer.batch == first.gpus() ? "" : "s",
                     question.shape.sequence, to_string(question.precision));
}

}  // namespace

Report plan_comparison(const PlanQuestion& question, const std::vector<PlannedMachine>& machines) {
  Report report;
  auto list = nlohmann::json::array();
  for (const auto& machine : machines) list.push_back(contender_json(machine));
  const auto pace = [](const PlannedMachine& machine) { return machine.best().samples_per_s; };
  const Pair pair{*std::ranges::max_element(machines, {}, pace),
                  *std::ranges::min_element(machines, {}, pace)};
  const auto gain =
      plan_gain(question, {pair.better.machine, pair.better.best()}, {pair.worse.machine, pair.worse.best()});
  const auto reason = reason_of(pair, gain);
  const auto open = left_open(question, machines);
  report.add(Title{heading(question, machines)});
  if (machines.size() > 1) report.add(Sentence{sentence_of(pair, gain, reason)});
  report.add(Gap{}, contenders_table(machines));
  if (!open.empty())
    report.add(Sentence{"Taken at its best on each machine, since not asked for: " + join(open, ", ") + "."});
  for (const auto& machine : machines)
    for (const auto& advice : machine.answer.advice)
      report.add(Sentence{fmt::format("{}: {}.", machine.on(), advice), "", "  "});
  report.add(
      Sentence{"Computing as with fused attention and kernels as large as they get, where `compare` without "
               "a split takes plain PyTorch (docs/parallel.md)."});
  add_assumptions(report, machines);
  report.data = {{"answer", answer_json(gain, reason)},
                 {"precision", to_string(question.precision)},
                 {"left_open", open},
                 {"machines", list}};
  return report;
}

}  // namespace gradwire

#include "report/plan/judged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/compare/compare.h"

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
  const auto sent_there = what_is_sent(*there);
  const auto way = fmt::format("{} over {}", sent_there, path_name(there->way));
  if (here == nullptr) return way;
  const auto sent = what_is_sent(*here);
  if (sent != sent_there) return fmt::format("{} over {} instead of {}", sent, path_name(here->way), way);
  if (here->way == there->way) return way;
  return fmt::format("{} over {} instead of {}", sent, path_name(here->way), path_name(there->way));
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
                     what_is_sent(*most), path_name(most->way), time_or_none(most->shown));
}

void add_other_slots(const PlanGain& gain, std::string& reason) {
  if (gain.other_slots && std::abs(gain.in_other_slots / gain.speedup - 1) > kMatters)
    reason += fmt::format("; {} {:.2f}x", to_words(*gain.other_slots), gain.in_other_slots);
}

// "llama-405b fits neither dgx-a100 nor dgx-h100", "... fits dgx-h100 alone", "... does not fit dgx-a100"
std::string misfit_of(const std::string& model, const std::vector<PlannedMachine>& machines) {
  std::vector<std::string> fit, misfit;
  for (const auto& machine : machines) (machine.answer.fitting > 0 ? fit : misfit).push_back(machine.on());
  if (misfit.empty() || fit.size() > 1) return "";
  if (fit.size() == 1) return fmt::format("{} fits {} alone", model, fit.front());
  if (misfit.size() == 1) return fmt::format("{} does not fit {}", model, misfit.front());
  return fmt::format("{} fits neither {}", model, join(misfit, " nor "));
}

// "It can't be told: ", or what does not fit.
std::string opening_of(const JudgedPlans& judged) {
  if (!judged.misfit.empty()) return judged.misfit + "; with memory enough, ";
  return judged.sure == Sure::yes ? "" : judged.sure == Sure::probably ? "Probably " : "It can't be told: ";
}

std::string range_text(const JudgedPlans& judged) {
  auto text = fmt::format("({:.2f} to {:.2f})", judged.gain.low, judged.gain.high);
  if (judged.saves) text += fmt::format(", {:.1f} h saved of every 24", hours_saved(judged.gain));
  return text;
}

std::string pair_sentence(const JudgedPlans& judged) {
  const bool fits = judged.misfit.empty();
  if (verdict_of(judged.gain) == Verdict::no_difference)
    return fmt::format("{}{} and {} {} no difference {}: {}.", opening_of(judged), judged.better,
                       judged.worse, fits ? "make" : "would make", range_text(judged), judged.reason);
  return fmt::format("{}{} {} {:.2f} times as fast as {} {}, {} {}.", opening_of(judged), judged.better,
                     fits ? "is" : "would be", judged.gain.speedup, judged.worse, range_text(judged),
                     fits && judged.sure == Sure::cant_tell ? "where" : "because", judged.reason);
}

std::string links_sentence(const JudgedPlans& judged) {
  if (verdict_of(judged.gain) == Verdict::no_difference)
    return fmt::format("{}{} is as fast as over links without limits {}: {}.", opening_of(judged),
                       judged.worse, range_text(judged), judged.reason);
  return fmt::format("{}{} would be {:.2f} times as fast over links without limits {}: {}.",
                     opening_of(judged), judged.worse, judged.gain.speedup, range_text(judged),
                     judged.reason);
}

JudgedPlans judge_pair(const PlanQuestion& question, const Pair& pair, std::string misfit) {
  const auto &a = pair.better, &b = pair.worse;
  JudgedPlans judged{.better = a.on(), .worse = b.on(), .misfit = std::move(misfit)};
  judged.gain = plan_gain(question, {a.machine, a.best()}, {b.machine, b.best()});
  judged.sure = judged.misfit.empty() ? how_sure(judged.gain) : Sure::cant_tell;
  const bool helps = verdict_of(judged.gain) == Verdict::helps;
  judged.saves = helps && judged.sure != Sure::cant_tell &&
                 (a.gpus() == b.gpus() || a.machine.gpu.id != b.machine.gpu.id);
  judged.reason = helps ? what_differs(pair) : largest_traffic(b);
  add_other_slots(judged.gain, judged.reason);
  return judged;
}

// One machine against itself says nothing; links without limits say what its own cost.
JudgedPlans judge_links(const PlanQuestion& question, const PlannedMachine& machine, std::string misfit) {
  JudgedPlans judged{.better = "a link without limits", .worse = machine.on(), .misfit = std::move(misfit)};
  judged.gain = gain_without_limits(question, {machine.machine, machine.best()});
  judged.sure = judged.misfit.empty() ? how_sure(judged.gain) : Sure::cant_tell;
  judged.saves = verdict_of(judged.gain) == Verdict::helps && judged.sure != Sure::cant_tell;
  judged.reason = largest_traffic(machine);
  add_other_slots(judged.gain, judged.reason);
  return judged;
}

// Of those that hold the model the fastest and the slowest; where one alone does, that one and the slowest other.
Pair choose_pair(const std::vector<PlannedMachine>& machines) {
  std::vector<const PlannedMachine*> fit, all;
  for (const auto& machine : machines) {
    all.push_back(&machine);
    if (machine.answer.fitting > 0) fit.push_back(&machine);
  }
  const auto pace = [](const PlannedMachine* machine) { return machine->best().samples_per_s; };
  if (fit.size() == 1) {
    std::erase(all, fit.front());
    return {*fit.front(), **std::ranges::min_element(all, {}, pace)};
  }
  const auto& among = fit.empty() ? all : fit;
  const auto worst =
      std::ranges::min_element(among.rbegin(), among.rend(), {}, pace);  // another one of equals
  return {**std::ranges::max_element(among, {}, pace), **worst};
}

}  // namespace

JudgedPlans judge_machines(const PlanQuestion& question, const std::vector<PlannedMachine>& machines) {
  auto misfit = misfit_of(question.shape.name, machines);
  const bool one = machines.size() == 1;
  auto judged = one ? judge_links(question, machines.front(), std::move(misfit))
                    : judge_pair(question, choose_pair(machines), std::move(misfit));
  judged.sentence = one ? links_sentence(judged) : pair_sentence(judged);
  return judged;
}

}  // namespace gradwire

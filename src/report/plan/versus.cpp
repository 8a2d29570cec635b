#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "report/plan/plan.h"

// `compare` of a layout that DistributedDataParallel alone is not: the same answer in the same words and names.
namespace gradwire {
namespace {

constexpr double kDifference = 1.05;  // from which on it is one
constexpr double kRatioSpread =
    1.6 * 0.06;  // eight of ten: of ratios as docs/parallel.md reports their errors

struct Verdict {
  std::string verdict, sure, sentence;
  double speedup = 1, low = 1, high = 1;
};

// What communication costs widens the range: two steps of the same computing differ in nothing else.
double doubt_of(const PlannedStep& a, const PlannedStep& b) {
  const double share = std::max(a.parts.communication() / a.step, b.parts.communication() / b.step);
  return kRatioSpread * std::clamp(2 * share, 0.2, 1.0);
}

Verdict judge_plans(const PlannedMachine& better, const PlannedMachine& worse) {
  const auto &a = better.answer.plans.front(), &b = worse.answer.plans.front();
  Verdict result;
  result.speedup = a.samples_per_s / b.samples_per_s;
  const double width = std::exp(doubt_of(a, b));
  result.low = result.speedup / width;
  result.high = result.speedup * width;
  const bool differs = result.speedup >= kDifference;
  result.verdict = differs ? "helps" : "no_difference";
  const bool settled = differs ? result.low > 1 : result.high < 1.15;
  result.sure = settled ? "yes" : "probably";
  result.sentence = differs ? fmt::format("{} is {:.2f} times as fast as {} ({:.2f} to {:.2f})", better.on,
                                          result.speedup, worse.on, result.low, result.high)
                            : fmt::format("{} and {} make no difference ({:.2f} to {:.2f})", better.on,
                                          worse.on, result.low, result.high);
  return result;
}

std::string largest_traffic(const PlannedStep& plan) {
  const auto most = std::max_element(plan.traffic.begin(), plan.traffic.end(),
                                     [](const auto& a, const auto& b) { return a.shown < b.shown; });
  if (most == plan.traffic.end()) return "nothing is sent";
  return fmt::format("{} over {} shows {} of a step of {}", most->what, most->path,
                     format_seconds(most->shown), format_seconds(plan.step));
}

nlohmann::json contender_json(const PlannedMachine& machine) {
  const auto& plan = machine.answer.plans.front();
  const auto most = std::max_element(plan.traffic.begin(), plan.traffic.end(),
                                     [](const auto& a, const auto& b) { return a.time < b.time; });
  return {{"on", machine.on},
          {"step_ms", 1e3 * plan.step},
          {"samples_per_s", plan.samples_per_s},
          {"comm_exposed_ms", 1e3 * plan.parts.communication()},
          {"scaling", 1 - plan.parts.communication() / plan.step},
          {"narrowest_link", most == plan.traffic.end() ? "none" : most->path},
          {"algorithm", describe(plan.layout)},
          {"fits", plan.fits},
          {"memory_gib", plan.memory.total() / (1 << 30)}};
}

Table contenders_table(const std::vector<PlannedMachine>& machines) {
  Table table{.rows = {{"on", "step", "seq/s", "communication", "bubble", "GiB", "plan"}},
              .left = 1,
              .prose_last = true};
  for (const auto& machine : machines) {
    const auto& plan = machine.answer.plans.front();
    table.rows.push_back({machine.on, format_seconds(plan.step), fmt::format("{:.4g}", plan.samples_per_s),
                          format_seconds(plan.parts.communication()), format_seconds(plan.parts.bubble),
                          fmt::format("{:.1f}{}", plan.memory.total() / (1 << 30), plan.fits ? "" : "!"),
                          describe(plan.layout)});
  }
  return table;
}

}  // namespace

Report plan_comparison(const PlanQuestion& question, const std::vector<PlannedMachine>& machines) {
  Report report;
  auto list = nlohmann::json::array();
  for (const auto& machine : machines) list.push_back(contender_json(machine));
  const auto pace = [](const PlannedMachine& machine) { return machine.answer.plans.front().samples_per_s; };
  const auto by_pace = [&](const auto& a, const auto& b) { return pace(a) < pace(b); };
  const auto& better = *std::max_element(machines.begin(), machines.end(), by_pace);
  const auto& worse = *std::min_element(machines.begin(), machines.end(), by_pace);
  const auto verdict = judge_plans(better, worse);
  const auto reason = largest_traffic(worse.answer.plans.front());
  report.add(Title{fmt::format("{}, {} tokens a sequence, {}", question.shape.name, question.shape.sequence,
                               to_string(question.precision))});
  if (machines.size() > 1)
    report.add(Sentence{fmt::format("{}: {} on {}.", verdict.sentence, reason, worse.on)});
  report.add(Gap{}, contenders_table(machines));
  for (const auto& machine : machines)
    for (const auto& advice : machine.answer.advice)
      report.add(Sentence{fmt::format("{}: {}.", machine.on, advice), "", "  "});
  report.add(
      Sentence{"Computing as with fused attention and kernels as large as they get, where `compare` without "
               "a split takes "
               "plain PyTorch (docs/parallel.md)."});
  report.data = {{"answer",
                  {{"verdict", verdict.verdict},
                   {"speedup", verdict.speedup},
                   {"low", verdict.low},
                   {"high", verdict.high},
                   {"sure", verdict.sure},
                   {"reason", reason}}},
                 {"machines", list}};
  return report;
}

}  // namespace gradwire

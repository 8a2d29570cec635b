#include "predict/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "predict/compare/memory.h"

namespace gradwire {
namespace {

constexpr double kMuch = 1.01;  // all-reduce times closer than this are equal

Seconds wire_time(const Contender& contender) { return contender.estimate.communication; }

// The better connected is the one whose all-reduces take less time; the first one asked for on a tie.
std::pair<std::size_t, std::size_t> extremes(const std::vector<Contender>& contenders) {
  std::size_t better = 0, worse = contenders.size() - 1;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (wire_time(contenders[i]) * kMuch < wire_time(contenders[better])) better = i;
    if (wire_time(contenders[i]) > wire_time(contenders[worse]) * kMuch) worse = i;
  }
  if (better == worse) better = 0, worse = contenders.size() - 1;
  return {better, worse};
}

Bytes typical_bucket(const Workload& workload, const StepOptions& options) {
  const auto bytes = parameter_count(workload) * static_cast<Bytes>(options.gradient_bytes);
  return std::min(bytes, options.buckets.rest);
}

std::vector<std::string> warnings_of(const Workload& workload, const std::vector<Contender>& contenders,
                                     const StepOptions& options) {
  std::vector<std::string> warnings;
  for (const auto& contender : contenders)
    if (const auto problem = find_memory_problem(workload, contender.machine, options))
      warnings.push_back(*problem);
  const auto other = [&](const Contender& one) { return one.machine.gpu.id != contenders[0].machine.gpu.id; };
  if (options.anchor && std::any_of(contenders.begin(), contenders.end(), other))
    warnings.push_back(
        "the step you measured stands for every GPU here, though they differ: the links alone are compared");
  return warnings;
}

}  // namespace

bool computed_on_cpu(const Timeline& timeline) {
  return timeline.source.starts_with("gradwire train ") && timeline.source.find("nccl") == std::string::npos;
}

std::string_view to_string(Verdict verdict) {
  return verdict == Verdict::helps ? "helps" : verdict == Verdict::hurts ? "hurts" : "no_difference";
}

Contender contend(const Workload& workload, const Machine& machine, const StepOptions& options,
                  const StepModel& model) {
  Contender contender{machine, wires_for(machine, options, typical_bucket(workload, options)), {}, 0};
  contender.estimate = estimate_step(workload, machine.gpu, contender.wires, options, model);
  if (contender.wires.ranks > 1)
    contender.plain_step =
        estimate_step(workload, machine.gpu, alpha_beta_wires(machine), options, model).step;
  else
    contender.plain_step = contender.estimate.step;
  return contender;
}

Contender with_ideal_wires(const Workload& workload, const Contender& contender, const StepOptions& options,
                           const StepModel& model) {
  auto ideal = contender;
  ideal.machine.name = "a link without limits";
  ideal.wires.all_reduce = [](Bytes) { return 0.0; };
  ideal.wires.through_host = false;
  ideal.wires.relative_error = 0;
  ideal.wires.narrowest_link = "none";
  ideal.wires.path = "no limits";
  ideal.estimate = estimate_step(workload, ideal.machine.gpu, ideal.wires, options, model);
  return ideal;
}

Comparison compare(const Workload& workload, const std::vector<Machine>& machines, const StepOptions& options,
                   const StepModel& model) {
  check(!machines.empty(), "compare needs a machine");
  Comparison result{workload, options, {}, {}, {}, {}, {}};
  for (const auto& machine : machines) check_computes(machine, options);
  for (const auto& machine : machines)
    result.contenders.push_back(contend(workload, machine, options, model));
  const auto& all = result.contenders;
  const auto [better, worse] = extremes(all);
  const auto first = all.size() > 1 ? all[better] : with_ideal_wires(workload, all[0], options, model);
  const auto& second = all[worse];
  result.answer = judge(workload, first, second, options, model);
  result.warnings = warnings_of(workload, all, options);
  result.remedies = find_remedies(workload, second, options, model);
  if (first.wires.ranks > 1 || second.wires.ranks > 1)
    result.turns = find_turns(workload, first, second, options, model);
  return result;
}

}  // namespace gradwire

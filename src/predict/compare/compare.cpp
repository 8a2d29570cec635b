#include "predict/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "predict/step/compute.h"

namespace gradwire {
namespace {

constexpr double kMuch = 1.01;  // all-reduce times closer than this are equal

Seconds wire_time(const Contender& contender) { return contender.estimate.communication; }

// First the better connected, whose all-reduces take less time.
struct Pair {
  std::size_t better = 0, worse = 0;
};

Pair extremes(const std::vector<Contender>& all, const std::vector<std::size_t>& among) {
  Pair pair{among.front(), among.back()};
  for (const auto i : among) {
    if (wire_time(all[i]) * kMuch < wire_time(all[pair.better])) pair.better = i;
    if (wire_time(all[i]) > wire_time(all[pair.worse]) * kMuch) pair.worse = i;
  }
  return pair.better == pair.worse ? Pair{among.front(), among.back()} : pair;
}

// As many GPUs that compute alike.
bool like_for_like(const Contender& a, const Contender& b, const StepOptions& options) {
  return a.wires.ranks == b.wires.ranks && (options.anchor || a.machine.gpu.id == b.machine.gpu.id);
}

// What differs in the links alone says most about links: of such pairs the one furthest apart, else of all.
Pair choose_pair(const std::vector<Contender>& all, const StepOptions& options) {
  std::vector<std::size_t> every(all.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  auto chosen = extremes(all, every);
  double furthest = kMuch;
  for (const auto& one : all) {
    std::vector<std::size_t> alike;
    std::ranges::copy_if(every, std::back_inserter(alike),
                         [&](std::size_t i) { return like_for_like(one, all[i], options); });
    const auto pair = extremes(all, alike);
    if (wire_time(all[pair.worse]) <= furthest * wire_time(all[pair.better])) continue;
    furthest = wire_time(all[pair.worse]) / wire_time(all[pair.better]);
    chosen = pair;
  }
  if (like_for_like(all[chosen.better], all[chosen.worse], options)) return chosen;
  const bool same_gpu =
      options.anchor || all[chosen.better].machine.gpu.id == all[chosen.worse].machine.gpu.id;
  const auto &better = all[chosen.better], &worse = all[chosen.worse];
  const bool tied = wire_time(worse) <= wire_time(better) * kMuch;
  // Of equal GPUs the question is what more of them give; where neither is better connected, which one trains faster.
  const bool second_first = same_gpu ? better.wires.ranks < worse.wires.ranks
                                     : tied && better.estimate.samples_per_s < worse.estimate.samples_per_s;
  return second_first ? Pair{chosen.worse, chosen.better} : chosen;
}

Bytes typical_bucket(const Workload& workload, const StepOptions& options) {
  const auto bytes = parameter_count(workload) * static_cast<Bytes>(options.gradient_bytes);
  return std::min(bytes, options.buckets.rest);
}

// A step measured on it shows that it can, somehow.
void check_precision(const Machine& machine, const StepOptions& options) {
  if (options.anchor || sheet_flops(machine.gpu, options.precision) > 0) return;
  std::vector<Precision> has = {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16};
  std::erase_if(has, [&](Precision one) { return sheet_flops(machine.gpu, one) == 0; });
  refuse_precision(options.precision, machine, has);
}

bool same_machine(const Machine& a, const Machine& b) {
  return a.node == b.node && a.nodes == b.nodes && a.network == b.network;
}

// One machine twice, with what was measured on it and without: told apart by its place on the command line.
void tell_apart(std::vector<Contender>& all) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Machine& one = all[i].machine;
    const bool differs = std::ranges::any_of(all, [&](const Contender& other) {
      return other.machine.name == one.name && !same_machine(other.machine, one);
    });
    names.push_back(differs ? fmt::format("{} ({})", one.name, i + 1) : one.name);
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].machine.name = names[i];
}

bool same_memory(const Machine& a, const Machine& b) {
  return a.gpu.memory_bytes == b.gpu.memory_bytes && a.gpus.size() == b.gpus.size();
}

// One of all machines whose GPUs hold as much.
std::vector<Misfit> misfits_of(const Workload& workload, const std::vector<Contender>& contenders,
                               const StepOptions& options) {
  std::vector<Misfit> misfits;
  for (auto one = contenders.begin(); one != contenders.end(); ++one) {
    const auto alike = [&](const Contender& other) { return same_memory(one->machine, other.machine); };
    if (std::any_of(contenders.begin(), one, alike)) continue;
    auto misfit = find_misfit(workload, one->machine, options);
    if (!misfit) continue;
    for (auto other = std::next(one); other != contenders.end(); ++other)
      if (alike(*other)) misfit->machines.push_back(other->machine.name);
    misfits.push_back(std::move(*misfit));
  }
  return misfits;
}

bool gpus_differ(const std::vector<Contender>& contenders) {
  const auto other = [&](const Contender& one) { return one.machine.gpu.id != contenders[0].machine.gpu.id; };
  return std::any_of(contenders.begin(), contenders.end(), other);
}

}  // namespace

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
  ideal.wires.doubt = {};
  ideal.wires.narrowest = {.by = Holdup::nothing};
  ideal.wires.way = std::nullopt;
  ideal.estimate = estimate_step(workload, ideal.machine.gpu, ideal.wires, options, model);
  return ideal;
}

Comparison compare(const Workload& workload, const std::vector<Machine>& machines, const StepOptions& options,
                   const StepModel& model) {
  check(!machines.empty(), "compare needs a machine");
  Comparison result;
  result.workload = workload;
  result.options = options;
  for (const auto& machine : machines) {
    check_computes(machine, options);
    check_precision(machine, options);
  }
  for (const auto& machine : machines)
    result.contenders.push_back(contend(workload, machine, options, model));
  tell_apart(result.contenders);
  const auto& all = result.contenders;
  const auto [better, worse] = choose_pair(all, options);
  const auto first = all.size() > 1 ? all[better] : with_ideal_wires(workload, all[0], options, model);
  const auto& second = all[worse];
  result.answer = judge(workload, first, second, options, model);
  result.misfits = misfits_of(workload, all, options);
  result.links_alone = options.anchor && gpus_differ(all);
  const auto& slowed = all.size() > 1 && wire_time(first) > wire_time(second) ? first : second;
  result.remedies_on = slowed.machine.name;
  result.remedies = find_remedies(workload, slowed, options, model);
  if (first.wires.ranks > 1 || second.wires.ranks > 1)
    result.turns = find_turns(workload, first, second, options, model);
  return result;
}

}  // namespace gradwire

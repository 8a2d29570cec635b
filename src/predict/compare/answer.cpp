#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "predict/compare/compare.h"

// How much faster, split into what the number of GPUs, the GPU and the link contribute, and how sure.
namespace gradwire {
namespace {

// Where a ratio of two steps may lie: what moves it up and what moves it down add up as squares.
class Range {
 public:
  void move(double factor) {
    const double by = std::log(factor);
    (by > 0 ? up_ : down_) += by * by;
  }
  double low() const { return std::exp(-std::sqrt(down_)); }
  double high() const { return std::exp(std::sqrt(up_)); }

 private:
  double up_ = 0, down_ = 0;
};

// Steps of one computing on wires whose times are multiplied.
class WhatIf {
 public:
  WhatIf(const Workload& workload, const StepOptions& options, const StepModel& model)
      : workload_(workload), options_(options), model_(model) {}

  double step(const Contender& contender, double times) const {
    Wires wires = contender.wires;
    wires.all_reduce = [times, &contender](Bytes bytes) { return times * contender.wires.all_reduce(bytes); };
    return estimate_step(workload_, contender.machine.gpu, wires, options_, model_).step;
  }

 private:
  const Workload& workload_;
  const StepOptions& options_;
  const StepModel& model_;
};

// What nobody stated of a machine's slots, as other boxes have it.
struct OtherSlots {
  NodeSpec node;
  std::string words;
};

// Two cards behind each PCIe switch instead of none; all lanes for each of two cards instead of half of a desktop's.
std::optional<OtherSlots> other_slots(const Contender& contender) {
  OtherSlots other{contender.machine.node, "slots are assumed, with two cards behind each PCIe switch"};
  if (contender.machine.nodes > 1) return std::nullopt;
  if (other.node.lanes_assumed) {
    const int all = contender.machine.gpu.pcie_width;
    other.words =
        fmt::format("slots are taken as x{} each, with x{}", other.node.pcie_width.value_or(all), all);
    other.node.pcie_width = all;
    other.node.lanes_assumed = false;
    return other;
  }
  if (!other.node.pcie_assumed || other.node.pcie->gpus_per_switch > 0 || contender.wires.ranks <= 2)
    return std::nullopt;
  other.node.pcie->gpus_per_switch = other.node.pcie->gpus_per_bridge = 2;
  return other;
}

Contender in_slots(const Contender& contender, const OtherSlots& slots, const StepOptions& options,
                   Bytes of_bytes) {
  Contender other = contender;
  other.machine = build_machine(slots.node);
  other.wires = wires_for(other.machine, options, of_bytes);
  return other;
}

struct OtherAnswer {
  double speedup;
  std::string words;
};

// What the answer would be if slots that nobody stated were others; absent where they were stated.
std::optional<OtherAnswer> answer_in_other_slots(const Contender& better, const Contender& worse,
                                                 const StepOptions& options, const WhatIf& what_if) {
  const auto of_better = other_slots(better), of_worse = other_slots(worse);
  if (!of_better || !of_worse || options.backend != Backend::nccl) return std::nullopt;
  const Bytes bytes = std::min(worse.estimate.gradient_bytes, options.buckets.rest);
  auto fast = in_slots(better, *of_better, options, bytes);
  fast.machine.gpu = worse.machine.gpu;  // both compute alike: the link's part is asked for
  return OtherAnswer{what_if.step(in_slots(worse, *of_worse, options, bytes), 1) / what_if.step(fast, 1),
                     of_worse->words};
}

double spread_of(const Wires& wires) {
  return wires.doubt.total() > 0 ? wires.doubt.total() : wires.relative_error / kEightOfTen;
}

// What constants of the NCCL model do to both machines' collectives, and where data goes the same way also what
// they leave open, moves both steps; the rest moves one of them.
Range link_range(const Contender& better, const Contender& worse, const WhatIf& what_if) {
  constexpr double kRunToRun = 0.03;  // of two steps that differ in their wires alone
  Range range;
  for (const double by : {-kRunToRun, kRunToRun}) range.move(1 + by);
  if (same_way(better, worse)) return range;
  const double before = what_if.step(worse, 1) / what_if.step(better, 1);
  const auto move = [&](double of_better, double of_worse) {
    for (const double side : {-kEightOfTen, kEightOfTen})
      range.move(what_if.step(worse, std::exp(side * of_worse)) /
                 what_if.step(better, std::exp(side * of_better)) / before);
  };
  if (better.wires.path == worse.wires.path) {
    const double both = spread_of(worse.wires);
    move(both, both);
    move(0, ratio_spread(better.wires, 1, worse.wires, 1));
  } else {
    move(spread_of(better.wires), 0);
    move(0, spread_of(worse.wires));
  }
  return range;
}

// How long the same computing takes is an estimate unless it was measured: where it takes longer links matter
// less, where it takes less they matter more. Gives what the speedup is multiplied by.
double change_if_computing_takes(double times, const Contender& better, const Contender& worse) {
  const auto& parts = better.estimate.parts;
  const auto backward = parts.backward - better.estimate.slowdown;  // that is the link's
  const auto more = (times - 1) * (parts.forward + backward + parts.optimizer);
  return (1 + more / worse.estimate.step) / (1 + more / better.estimate.step);
}

double each(const Contender& contender) { return contender.estimate.samples_per_s / contender.wires.ranks; }

// What a step would gain if collectives through host memory hid as those over direct links do: that they hide
// nothing rests on one pair of GPUs (presets/step.yaml).
double gain_if_host_hides(const Workload& workload, const Contender& contender, const StepOptions& options,
                          StepModel model) {
  if (!contender.wires.through_host || options.backend != Backend::nccl) return 1;
  const auto step = [&] {
    return estimate_step(workload, contender.machine.gpu, contender.wires, options, model).step;
  };
  const auto before = step();
  model.constants.slowdown_host = model.constants.slowdown_direct;
  return before / step();
}

// Both with the same computing; `hiding` is what the factor is multiplied by if host memory hides.
Effect link_effect(const Contender& better, const Contender& worse, double hiding, const Range& range) {
  const double speedup = each(better) / each(worse);
  Effect effect{speedup, speedup, speedup};
  const double unsure = better.estimate.computing_error;
  if (unsure > 0)
    for (const double times : {1 - unsure, 1 + unsure}) {
      const double other = speedup * change_if_computing_takes(times, better, worse);
      effect.low = std::min(effect.low, other);
      effect.high = std::max(effect.high, other);
    }
  effect.low *= std::min(1.0, hiding) * range.low();
  effect.high *= std::max(1.0, hiding) * range.high();
  return effect;
}

// On the same wires. Estimates of different GPUs err independently.
Effect gpu_effect(const Contender& better, const Contender& worse, const StepModel& model) {
  const double speedup = each(better) / each(worse);
  const double error = std::max(std::hypot(better.estimate.computing_error, worse.estimate.computing_error),
                                model.constants.error_anchored);
  return {speedup, speedup / (1 + error), speedup * (1 + error)};
}

// Errors of factors that have nothing to do with each other add up as squares of logarithms.
Effect product(double count, const Effect& a, const Effect& b) {
  const double speedup = count * a.speedup * b.speedup;
  const auto away = [](double x, double y) { return std::hypot(std::log(x), std::log(y)); };
  return {speedup, speedup * std::exp(-away(a.speedup / a.low, b.speedup / b.low)),
          speedup * std::exp(away(a.high / a.speedup, b.high / b.speedup))};
}

}  // namespace

Verdict verdict_of(const Effect& effect) {
  if (effect.speedup >= 1 + kMatters) return Verdict::helps;
  return effect.speedup <= 1 / (1 + kMatters) ? Verdict::hurts : Verdict::no_difference;
}

double hours_saved(const Effect& effect) { return 24 * (1 - 1 / effect.speedup); }

bool is_certain(const Effect& effect) {
  constexpr double kNearly = 1 + 2 * kMatters;  // "no difference" may be a little off either way
  constexpr double kShownAsNone = 0.005;        // 1.00x
  const auto verdict = verdict_of(effect);
  if (verdict == Verdict::helps) return effect.low >= 1 + kShownAsNone;
  if (verdict == Verdict::hurts) return effect.high < 1 - kShownAsNone;
  return effect.low >= 1 / kNearly && effect.high <= kNearly;
}

Sure how_sure(const Effect& effect) {
  if (is_certain(effect)) return Sure::yes;
  constexpr double kSixOfTen = 0.8416 / kEightOfTen;  // of the range's width: three of five
  const auto nearer = [&](double end) { return effect.speedup * std::pow(end / effect.speedup, kSixOfTen); };
  return is_certain({effect.speedup, nearer(effect.low), nearer(effect.high)}) ? Sure::probably
                                                                               : Sure::cant_tell;
}

std::string_view to_string(Sure sure) {
  return sure == Sure::yes ? "yes" : sure == Sure::probably ? "probably" : "cant_tell";
}

Answer judge(const Workload& workload, const Contender& better, const Contender& worse,
             const StepOptions& options, const StepModel& model) {
  Answer answer;
  answer.better = better.machine.name;
  answer.worse = worse.machine.name;
  answer.alike = better.machine.gpu.id == worse.machine.gpu.id || options.anchor;
  auto rewired = worse;  // the worse machine's GPU on the better one's wires
  rewired.wires = better.wires;
  rewired.estimate = answer.alike ? better.estimate
                                  : estimate_step(workload, worse.machine.gpu, better.wires, options, model);
  answer.count = double(better.wires.ranks) / worse.wires.ranks;
  const auto gain = [&](const Contender& one) { return gain_if_host_hides(workload, one, options, model); };
  const WhatIf what_if(workload, options, model);
  auto range = link_range(rewired, worse, what_if);
  const auto other = answer_in_other_slots(better, worse, options, what_if);
  if (other) range.move(other->speedup / (what_if.step(worse, 1) / what_if.step(rewired, 1)));
  answer.link =
      link_effect(rewired, worse, same_way(rewired, worse) ? 1 : gain(rewired) / gain(worse), range);
  if (!answer.alike) answer.gpu = gpu_effect(better, rewired, model);
  static_cast<Effect&>(answer) = product(answer.count, answer.gpu, answer.link);
  answer.verdict = verdict_of(answer);
  answer.certain = is_certain(answer);
  answer.sure = how_sure(answer);
  answer.reason = reason_of(answer, better, {rewired, worse});
  if (other && std::abs(other->speedup / answer.link.speedup - 1) > kMatters)
    answer.reason += fmt::format("; {} {:.2f}x", other->words, other->speedup);
  answer.sentence = sentence_of(workload, answer);
  return answer;
}

}  // namespace gradwire

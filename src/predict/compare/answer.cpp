#include <algorithm>
#include <cmath>

#include "predict/compare/compare.h"
#include "predict/compare/words.h"

// How much faster, split into what the number of GPUs, the GPU and the link contribute, and how sure.
namespace gradwire {
namespace {

// Two steps of the same computing: what constants of the NCCL model do to both cancels as far as both answer to
// it alike; what constants leave open is the host's where data goes the same way, else each machine's own.
double link_error(const Contender& a, const Contender& b) {
  constexpr double kCommon = 0.02;  // of two steps that differ in their wires alone: run to run
  if (same_way(a, b)) return std::hypot(kCommon, kCommon);
  const double of_a = a.estimate.wire_answer, of_b = b.estimate.wire_answer;
  const auto &doubt_a = a.wires.doubt, &doubt_b = b.wires.doubt;
  double sum = 2 * kCommon * kCommon;
  for (std::size_t i = 0; i < kNcclConstants; ++i) {
    const double both = of_a * doubt_a.by_constant[i] - of_b * doubt_b.by_constant[i];
    sum += both * both;
  }
  const double rest_a = of_a * doubt_a.rest, rest_b = of_b * doubt_b.rest;
  const bool one_host = a.wires.path == b.wires.path;
  sum += one_host ? (rest_a - rest_b) * (rest_a - rest_b) : rest_a * rest_a + rest_b * rest_b;
  if (doubt_a.total() == 0) sum += std::pow(of_a * a.wires.relative_error, 2);  // not NCCL's
  if (doubt_b.total() == 0) sum += std::pow(of_b * b.wires.relative_error, 2);
  return std::expm1(kEightOfTen * std::sqrt(sum));
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
  if (!contender.wires.through_host || options.backend != "nccl") return 1;
  const auto step = [&] {
    return estimate_step(workload, contender.machine.gpu, contender.wires, options, model).step;
  };
  const auto before = step();
  model.constants.slowdown_host = model.constants.slowdown_direct;
  return before / step();
}

// Both with the same computing; `hiding` is what the factor is multiplied by if host memory hides.
Effect link_effect(const Contender& better, const Contender& worse, double hiding) {
  const double speedup = each(better) / each(worse), error = link_error(better, worse);
  Effect effect{speedup, speedup, speedup};
  const double unsure = better.estimate.computing_error;
  if (unsure > 0)
    for (const double times : {1 - unsure, 1 + unsure}) {
      const double other = speedup * change_if_computing_takes(times, better, worse);
      effect.low = std::min(effect.low, other);
      effect.high = std::max(effect.high, other);
    }
  effect.low *= std::min(1.0, hiding) / (1 + error);
  effect.high *= std::max(1.0, hiding) * (1 + error);
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

bool is_certain(const Effect& effect) {
  constexpr double kNearly = 1 + 2 * kMatters;  // "no difference" may be a little off either way
  const auto verdict = verdict_of(effect);
  if (verdict == Verdict::helps) return effect.low > 1;
  if (verdict == Verdict::hurts) return effect.high < 1;
  return effect.low >= 1 / kNearly && effect.high <= kNearly;
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
  answer.link = link_effect(rewired, worse, same_way(rewired, worse) ? 1 : gain(rewired) / gain(worse));
  if (!answer.alike) answer.gpu = gpu_effect(better, rewired, model);
  static_cast<Effect&>(answer) = product(answer.count, answer.gpu, answer.link);
  answer.verdict = verdict_of(answer);
  answer.certain = is_certain(answer);
  answer.reason = reason_of(answer, better, {rewired, worse});
  answer.sentence = sentence_of(workload, answer);
  return answer;
}

}  // namespace gradwire

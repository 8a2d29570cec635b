#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "predict/compare/compare.h"

namespace gradwire {
namespace {

// What the two steps have in common (the same GPU computing the same batch) errs alike and cancels; what
// collectives add errs on its own. Steps on different GPUs err independently altogether.
double ratio_error(const Contender& a, const Contender& b, const StepModel& model) {
  constexpr double kCommon = 0.02;  // of two steps that differ in their wires alone: run to run
  const bool same = a.machine.gpu.id == b.machine.gpu.id && a.wires.ranks == b.wires.ranks;
  const auto own = [&](const Contender& c) {
    const double added =
        (c.estimate.parts.comm_exposed + 0.5 * c.estimate.parts.comm_overlapped) / c.estimate.step;
    const double wires = std::max(c.wires.relative_error, 0.1) * added;
    const double rest = same ? kCommon : c.estimate.relative_error;
    return wires * wires + rest * rest;
  };
  const double error = std::sqrt(own(a) + own(b));
  return same ? error : std::max(error, model.constants.error_anchored);
}

// Machines with the same GPU compute alike, but how long is an estimate unless it was measured: where it
// takes longer links matter less, where it takes less they matter more. Gives what the speedup is multiplied
// by.
double change_if_computing_takes(double times, const Contender& better, const Contender& worse) {
  const auto& parts = better.estimate.parts;
  const auto more = (times - 1) * (parts.forward + parts.backward + parts.optimizer);
  return (1 + more / worse.estimate.step) / (1 + more / better.estimate.step);
}

struct Range {
  double low = 1, high = 1;
};

Range range_of(const Answer& answer, const Contender& better, const Contender& worse,
               const StepModel& model) {
  const double error = ratio_error(better, worse, model);
  Range range{answer.speedup, answer.speedup};
  const double unsure = better.estimate.computing_error;
  if (unsure > 0 && better.machine.gpu.id == worse.machine.gpu.id)
    for (const double times : {1 - unsure, 1 + unsure}) {
      const double speedup = answer.speedup * change_if_computing_takes(times, better, worse);
      range = {std::min(range.low, speedup), std::max(range.high, speedup)};
    }
  return {range.low / (1 + error), range.high * (1 + error)};
}

Verdict verdict_of(double speedup) {
  if (speedup >= 1 + kMatters) return Verdict::helps;
  return speedup <= 1 / (1 + kMatters) ? Verdict::hurts : Verdict::no_difference;
}

std::string milliseconds(Seconds time) {
  return time < 0.01 ? fmt::format("{:.1f} ms", time * 1e3) : fmt::format("{:.0f} ms", time * 1e3);
}

std::string megabytes(Bytes bytes) {
  return bytes >= 10'000'000'000 ? fmt::format("{:.0f} GB", double(bytes) / 1e9)
                                 : fmt::format("{:.0f} MB", double(bytes) / 1e6);
}

// "over NVLink", "through host memory": the way as the NCCL model names it.
std::string way(const Contender& contender) {
  const auto& path = contender.wires.path;
  if (path.empty() || path == "no limits") return "without limits";
  return path == "host memory" ? "through host memory" : "over " + path;
}

std::string exposure(const Contender& contender) {
  const auto& parts = contender.estimate.parts;
  if (parts.comm_exposed < 0.01 * contender.estimate.step) return "hides under backward";
  return fmt::format("leaves {} uncovered", milliseconds(parts.comm_exposed));
}

std::string reason_of(const Contender& better, const Contender& worse) {
  const auto& slow = worse.estimate;
  if (better.machine.gpu.id != worse.machine.gpu.id)
    return fmt::format("the GPUs differ: {} against {}", better.machine.gpu.name, worse.machine.gpu.name);
  if (slow.communication == 0) return "one GPU sends nothing";
  const auto first =
      fmt::format("a step sends {} of gradients; {} that takes {} and {}", megabytes(slow.gradient_bytes),
                  way(worse), milliseconds(slow.communication), exposure(worse));
  if (better.estimate.communication == 0) return first + ", and what hides still slows computing";
  return first + fmt::format(", {} {} and {}", way(better), milliseconds(better.estimate.communication),
                             exposure(better));
}

std::string how_much(const Answer& answer) {
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", answer.speedup, answer.low, answer.high);
}

std::string sentence_of(const Workload& workload, const Answer& answer) {
  const auto names = fmt::format("{} over {}", answer.better, answer.worse);
  if (answer.verdict == Verdict::no_difference)
    return fmt::format("It does not matter for {}: {} gives {}, because {}.", workload.name, names,
                       how_much(answer), answer.reason);
  return fmt::format("{} for {}: {} gives {}, because {}.", answer.verdict == Verdict::helps ? "Yes" : "No",
                     workload.name, names, how_much(answer), answer.reason);
}

}  // namespace

Answer judge(const Workload& workload, const Contender& better, const Contender& worse,
             const StepModel& model) {
  Answer answer;
  answer.better = better.machine.name;
  answer.worse = worse.machine.name;
  answer.speedup = better.estimate.samples_per_s / worse.estimate.samples_per_s;
  const auto range = range_of(answer, better, worse, model);
  answer.low = range.low;
  answer.high = range.high;
  answer.verdict = verdict_of(answer.speedup);
  answer.reason = reason_of(better, worse);
  answer.sentence = sentence_of(workload, answer);
  return answer;
}

}  // namespace gradwire

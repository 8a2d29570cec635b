#include <algorithm>
#include <cmath>

#include "predict/compare/compare.h"

// How much faster, split into what the number of GPUs, the GPU and the link contribute, and how sure.
namespace gradwire {
namespace {

double each(const StepEstimate& estimate) { return estimate.samples_per_s / estimate.ranks; }

// On the same wires. Estimates of different GPUs err independently.
Effect gpu_effect(const StepEstimate& better, const StepEstimate& worse) {
  const double speedup = each(better) / each(worse);
  const double error = std::hypot(better.computing_error, worse.computing_error);
  return {speedup, speedup / (1 + error), speedup * (1 + error)};
}

// Errors of factors that have nothing to do with each other add up as squares of logarithms.
Effect product(double count, const Effect& a, const Effect& b) {
  const double speedup = count * a.speedup * b.speedup;
  const auto away = [](double x, double y) { return std::hypot(std::log(x), std::log(y)); };
  return {speedup, speedup * std::exp(-away(a.speedup / a.low, b.speedup / b.low)),
          speedup * std::exp(away(a.high / a.speedup, b.high / b.speedup))};
}

WiredStep wired(const Workload& workload, const Gpu& gpu, Wires wires, const StepOptions& options,
                const StepModel& model) {
  auto problem = make_problem(workload, gpu, wires, options, model.constants, model.roofline);
  return {std::move(problem), std::move(wires)};
}

// What may be otherwise than was taken because nobody stated it, and what each is.
struct LinkQuestion : GainQuestion {
  std::vector<std::variant<OtherSlots, OtherVersion>> unstated;
};

// Computing of the worse machine's GPU on the wires of both, as they are taken and as they may be instead.
class Rewiring {
 public:
  Rewiring(const Workload& workload, const Contender& better, const Contender& worse,
           const StepOptions& options, const StepModel& model)
      : workload_(workload), better_(better), worse_(worse), options_(options), model_(model) {}

  LinkQuestion question() const {
    LinkQuestion question{
        {{on(better_.wires), on(worse_.wires)}, {}, worse_.estimate.computing_error, model_.constants}, {}};
    if (options_.backend != Backend::nccl) return question;
    add_slots(question);
    add_version(question);
    return question;
  }

 private:
  WiredStep on(Wires wires) const {
    return wired(workload_, worse_.machine.gpu, std::move(wires), options_, model_);
  }
  WiredStep on(const Machine& machine, const StepOptions& options) const {
    return on(wires_for(machine, options, std::min(worse_.estimate.gradient_bytes, options.buckets.rest)));
  }

  void add_slots(LinkQuestion& question) const {
    const auto of_better = in_other_slots(better_.machine), of_worse = in_other_slots(worse_.machine);
    if (!of_better || !of_worse) return;
    question.otherwise.push_back({on(*of_better, options_), on(*of_worse, options_)});
    question.unstated.emplace_back(other_slots_of(worse_.machine));
  }

  WiredStep with_version(const Contender& one, const std::optional<OtherVersion>& other) const {
    if (!other) return on(one.wires);
    auto options = options_;
    options.nccl.version = other->before();
    return on(one.machine, options);
  }

  void add_version(LinkQuestion& question) const {
    const auto of_better = find_other_version(better_.machine, options_.nccl);
    const auto of_worse = find_other_version(worse_.machine, options_.nccl);
    if (!of_better && !of_worse) return;
    question.otherwise.push_back({with_version(better_, of_better), with_version(worse_, of_worse)});
    question.unstated.emplace_back(of_worse ? *of_worse : *of_better);
  }

  const Workload& workload_;
  const Contender &better_, &worse_;
  const StepOptions& options_;
  const StepModel& model_;
};

// What would make a difference.
std::vector<Otherwise> otherwise_of(const LinkQuestion& question, const Effect& link) {
  std::vector<Otherwise> found;
  for (std::size_t i = 0; i < question.unstated.size(); ++i)
    if (const double gain = gain_otherwise(question, i); std::abs(gain / link.speedup - 1) > kMatters)
      found.push_back({question.unstated[i], gain});
  return found;
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

Answer judge(const Workload& workload, const Contender& better, const Contender& worse,
             const StepOptions& options, const StepModel& model) {
  Answer answer;
  answer.better = better.machine.name;
  answer.worse = worse.machine.name;
  answer.alike = better.machine.gpu.id == worse.machine.gpu.id || options.anchor;
  answer.better_gpu = better.machine.gpu.name;
  answer.worse_gpu = worse.machine.gpu.name;
  answer.on_better = {
      better.wires, answer.alike ? better.estimate
                                 : estimate_step(workload, worse.machine.gpu, better.wires, options, model)};
  answer.on_worse = {worse.wires, worse.estimate};
  answer.count = double(better.wires.ranks) / worse.wires.ranks;
  const auto question = Rewiring(workload, better, worse, options, model).question();
  answer.link = link_gain(question);
  if (!answer.alike) answer.gpu = gpu_effect(better.estimate, answer.on_better.estimate);
  static_cast<Effect&>(answer) = product(answer.count, answer.gpu, answer.link);
  answer.verdict = verdict_of(answer);
  answer.certain = is_certain(answer);
  answer.sure = how_sure(answer);
  answer.otherwise = otherwise_of(question, answer.link);
  return answer;
}

}  // namespace gradwire

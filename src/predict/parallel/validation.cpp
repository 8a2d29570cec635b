#include "predict/parallel/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "predict/presets.h"
#include "predict/records/read.h"

namespace gradwire {
namespace {

constexpr double kApart = 1.1;  // measured ratio from which two plans differ
constexpr double kEightOfTenCases = 1.28155;

Seconds step_with(const ParallelCase& run, const ParallelValues& values) {
  return price_plan(run.problem, values).total();
}

// What a share of the peak makes of a run, but for the share: seconds at the peak.
Seconds at_peak(const ParallelCase& run) { return run.flops / (run.problem.peak * run.problem.ranks); }

double share_of_peak(const ParallelCase& run) { return at_peak(run) / run.measured; }

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The constants for each source, fitted once without it.
class ConstantsBySource {
 public:
  explicit ConstantsBySource(std::span<const ParallelCase> known)
      : known_(learnable(known)),
        all_(fit_parallel(known_, default_parallel_model(), default_parallel_model().values)) {}

  const ParallelFit& of(const ParallelCase& run) {
    const auto others = without_source(known_, run.group, run.platform);
    if (others.size() == known_.size()) return all_;
    const auto [found, added] = fits_.try_emplace(run.group + "|" + run.platform);
    if (added) found->second = fit_parallel(others, default_parallel_model(), all_.values, 4);
    return found->second;
  }

  double usual_share(const ParallelCase& run) const {
    std::vector<double> shares;
    for (const auto* other : without_source(known_, run.group, run.platform))
      if (other->quality == Quality::ok && other->moe == run.moe) shares.push_back(share_of_peak(*other));
    return shares.empty() ? 0.4 : middle(std::move(shares));
  }

 private:
  std::vector<const ParallelCase*> known_;
  ParallelFit all_;
  std::map<std::string, ParallelFit> fits_;
};

bool same_subject(const ParallelCase& a, const ParallelCase& b) {
  return a.group == b.group && a.model == b.model && a.gpu == b.gpu;
}

// The things two runs of one subject differ in.
std::vector<Differs> differences(const ParallelCase& a, const ParallelCase& b) {
  std::vector<Differs> things;
  auto x = a.problem.layout, y = b.problem.layout;
  if (a.problem.ranks != b.problem.ranks) things.push_back(Differs::gpus);
  if (a.precision != b.precision) things.push_back(Differs::precision);
  if (x.recompute != y.recompute) things.push_back(Differs::recomputation);
  if (x.schedule != y.schedule || x.virtual_stages != y.virtual_stages) things.push_back(Differs::schedule);
  if (links_differ(a.links, b.links)) things.push_back(Differs::link);
  if (a.problem.sequence != b.problem.sequence) things.push_back(Differs::sequence);
  const bool more = a.problem.ranks != b.problem.ranks;
  if (!more && a.sequences != b.sequences) things.push_back(Differs::batch);
  // What Adam holds follows from the precision; other states are another layout.
  if (x.state_bytes == adam_bytes(x.precision) && y.state_bytes == adam_bytes(y.precision))
    x.state_bytes = y.state_bytes;
  x.precision = y.precision, x.recompute = y.recompute, x.schedule = y.schedule;
  x.virtual_stages = y.virtual_stages, x.micro_batches = y.micro_batches;
  x.fused_attention = y.fused_attention, x.overlap = y.overlap, x.gradient_bytes = y.gradient_bytes;
  x.whole_tensors = y.whole_tensors, x.kept_parameters = y.kept_parameters;
  if (more) x.mesh.dp = y.mesh.dp;
  if (!(x == y)) things.push_back(Differs::layout);
  return things;
}

// How far another run is from one: a user who could choose would give the nearest. Another layout tells less than
// another number of GPUs.
double distance(const ParallelCase& run, const ParallelCase& other) {
  constexpr std::array<double, kNamesOf<Differs>.size()> kWeights = {0.5, 1.5, 1, 1, 2, 1, 0.3, 2};
  double far = 0;
  for (const auto thing : differences(run, other)) far += kWeights[static_cast<std::size_t>(thing)];
  const auto apart = [](double a, double b) { return 0.2 * std::abs(std::log2(a / b)); };
  return far + apart(run.problem.ranks, other.problem.ranks) +
         apart(run.problem.sequence, other.problem.sequence) +
         apart(run.problem.layout.micro_batch, other.problem.layout.micro_batch);
}

// What a GPU gets done in a second.
double pace(const ParallelCase& run, Seconds step) { return run.sequences / (step * run.problem.ranks); }

// Absent where a step is not stated and what was published instead is not of one kind.
std::optional<double> measured_ratio(const ParallelCase& a, const ParallelCase& b) {
  if (a.measured > 0 && b.measured > 0) return pace(a, a.measured) / pace(b, b.measured);
  if (a.rate > 0 && b.rate > 0 && a.counted_in == b.counted_in) return a.rate / b.rate;
  return std::nullopt;
}

class ParallelJudge {
 public:
  ParallelJudge(ParallelValidation& result, std::span<const ParallelCase> known)
      : result_(result), constants_(known) {}

  void judge() {
    const auto& cases = result_.asked.cases;
    for (const auto& run : cases) {
      predicted_[&run] = step_with(run, constants_.of(run).values);
      if (run.measured > 0) result_.points.push_back(point(run));
    }
    for (std::size_t i = 0; i < cases.size(); ++i)
      for (std::size_t j = i + 1; j < cases.size(); ++j) compare(cases[i], cases[j]);
    add_sets();
  }

 private:
  ParallelPoint point(const ParallelCase& run) {
    ParallelPoint point;
    point.run = &run;
    point.alone = predicted_[&run];
    point.alone_floor = at_peak(run) / constants_.usual_share(run);
    give_others(run, point);
    const auto& model = default_parallel_model();
    const double width = std::exp(kEightOfTenCases * 1.25 * model.error_of(point.given.has_value()));
    point.low = point.best() / width;
    point.high = point.best() * width;
    return point;
  }

  void give_others(const ParallelCase& run, ParallelPoint& point) {
    double nearest = 1e9;
    for (const auto& other : result_.asked.cases) {
      if (&other == &run || !same_subject(run, other) || other.quality == Quality::odd) continue;
      if (other.measured <= 0) continue;
      const Seconds step = step_given(run, other, constants_.of(run));
      const Seconds floor = at_peak(run) / share_of_peak(other);
      point.others.push_back({&other, step, floor});
      const double far = distance(run, other);
      if (far >= nearest) continue;
      nearest = far;
      point.given = step, point.given_floor = floor, point.nearest = other.id;
    }
  }

  void compare(const ParallelCase& a, const ParallelCase& b) {
    if (!same_subject(a, b) || a.quality == Quality::odd || b.quality == Quality::odd) return;
    const auto things = differences(a, b);
    if (things.size() != 1 || things[0] == Differs::batch || things[0] == Differs::sequence) return;
    if (const auto measured = measured_ratio(a, b))
      result_.ratios.push_back(
          {&a, &b, things[0], *measured, pace(a, predicted_[&a]) / pace(b, predicted_[&b])});
  }

  // Layouts to choose from: the same is trained, on as many GPUs that the same links join.
  void add_sets() {
    using Plans = std::vector<const ParallelCase*>;
    std::map<std::string, std::vector<Plans>> sets;
    for (const auto& run : result_.asked.cases) {
      if (run.quality == Quality::odd || run.measured <= 0) continue;
      auto& alike = sets[fmt::format("{} {} {} {} {} {} {}", run.group, run.model, run.gpu, run.problem.ranks,
                                     run.precision, run.sequences, run.problem.sequence)];
      const auto joined_so = [&](const Plans& set) { return !links_differ(set.front()->links, run.links); };
      const auto found = std::ranges::find_if(alike, joined_so);
      (found != alike.end() ? *found : alike.emplace_back()).push_back(&run);
    }
    for (const auto& [name, alike] : sets)
      for (const auto& plans : alike)
        if (plans.size() > 1) result_.sets.push_back(judge_set(plans));
  }

  PlanSet judge_set(const std::vector<const ParallelCase*>& plans) {
    PlanSet set;
    set.plans = plans;
    const auto by_measured = [](const ParallelCase* a, const ParallelCase* b) {
      return a->measured < b->measured;
    };
    const auto by_predicted = [&](const ParallelCase* a, const ParallelCase* b) {
      return predicted_[a] < predicted_[b];
    };
    const Seconds best = (*std::min_element(plans.begin(), plans.end(), by_measured))->measured;
    set.chosen = (*std::min_element(plans.begin(), plans.end(), by_predicted))->measured / best - 1;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      set.any += (plans[i]->measured / best - 1) / double(plans.size());
      for (std::size_t j = i + 1; j < plans.size(); ++j) {
        const double ratio = plans[i]->measured / plans[j]->measured;
        if (plans[i]->problem.layout == plans[j]->problem.layout) continue;  // one plan, measured twice
        if (ratio < kApart && ratio > 1 / kApart) continue;
        ++set.pairs;
        set.named += (ratio > 1) == (predicted_[plans[i]] > predicted_[plans[j]]);
      }
    }
    return set;
  }

  ParallelValidation& result_;
  ConstantsBySource constants_;
  std::map<const ParallelCase*, Seconds> predicted_;
};

}  // namespace

std::vector<Record> built_in_parallel_records() {
  return parse_records(parallel_preset_text("parallel.jsonl"), "presets/measured/parallel.jsonl");
}

ParallelValidation validate_parallel(std::span<const Record> records, std::span<const Record> known) {
  ParallelValidation result;
  result.asked = parallel_cases(records);
  const auto learnt = parallel_cases(known);
  if (!result.asked.cases.empty()) ParallelJudge(result, learnt.cases).judge();
  return result;
}

}  // namespace gradwire

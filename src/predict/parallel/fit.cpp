#include "predict/parallel/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "predict/calibration/least_squares.h"

namespace gradwire {
namespace {

constexpr double kOkSpread = 0.07, kWeakSpread = 0.15;  // of a record's logarithm beside what sources do
constexpr double kSourceSpread = 0.15,
                 kModelSpread = 0.05;  // of the effects of a source, and of a model in it
constexpr double kHuber = 1.5;         // deviations from which a row pulls no harder
constexpr double kProbe = 0.02;        // step of a constant's logarithm for derivatives

double log_step(const ParallelCase& one, const ParallelValues& values) {
  return std::log(price_plan(one.problem, values).total());
}

// How the logarithm of a step follows that of each constant.
ParallelValues slopes(const ParallelCase& one, const ParallelValues& values) {
  const double base = log_step(one, values);
  ParallelValues all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto moved = values;
    moved[i] *= std::exp(kProbe);
    all[i] = (log_step(one, moved) - base) / kProbe;
  }
  return all;
}

std::string model_of_source(const ParallelCase& one) {
  return one.group + "/" + one.model + "/" + one.precision;
}

double spread_of(const ParallelCase& one) { return one.quality == Quality::ok ? kOkSpread : kWeakSpread; }

// How what two runs of one source are off varies together, what is each one's own aside.
double shared_variance(const ParallelCase& a, const ParallelCase& b, const ParallelFit& fit) {
  const auto of_a = slopes(a, fit.values), of_b = slopes(b, fit.values);
  double sum = kSourceSpread * kSourceSpread;
  if (model_of_source(a) == model_of_source(b)) sum += kModelSpread * kModelSpread;
  for (std::size_t i = 0; i < of_a.size(); ++i)
    for (std::size_t j = 0; j < of_b.size(); ++j)
      sum += of_a[i] * of_b[j] * fit.covariance[i * of_a.size() + j];
  return sum;
}

class Fitter {
 public:
  Fitter(std::span<const ParallelCase* const> cases, const ParallelModel& model)
      : cases_(cases), model_(model) {
    for (const auto* one : cases) {
      sources_.try_emplace(one->group, kParallelConstants + effects_count_);
      if (sources_.size() + models_.size() > effects_count_) ++effects_count_;
      models_.try_emplace(model_of_source(*one), kParallelConstants + effects_count_);
      if (sources_.size() + models_.size() > effects_count_) ++effects_count_;
    }
    effects_.resize(kParallelConstants + effects_count_);
  }

  ParallelFit fit(const ParallelValues& start, int rounds) {
    values_ = start;
    ParallelFit result;
    for (int round = 0; round < rounds; ++round) {
      LeastSquares system(kParallelConstants + effects_count_);
      add_pulls(system);
      for (const auto* one : cases_) add_case(*one, system);
      step(system.solve());
      if (round + 1 < rounds) continue;
      result.covariance = system.covariance(kParallelConstants);
    }
    result.values = values_;
    result.left = left_over();
    return result;
  }

 private:
  std::size_t source_of(const ParallelCase& one) const { return sources_.at(one.group); }
  std::size_t model_of(const ParallelCase& one) const { return models_.at(model_of_source(one)); }

  double residual(const ParallelCase& one) const {
    return std::log(one.measured) - log_step(one, values_) - effects_[source_of(one)] -
           effects_[model_of(one)];
  }

  // Unknowns are changes from where the walk stands.
  void add_pulls(LeastSquares& system) const {
    for (std::size_t i = 0; i < kParallelConstants; ++i) {
      const auto& prior = model_.priors[i];
      system.pull(i, std::log(prior.prior / values_[i]), 1 / (prior.spread * prior.spread));
    }
    for (const auto& [name, column] : sources_)
      system.pull(column, -effects_[column], 1 / (kSourceSpread * kSourceSpread));
    for (const auto& [name, column] : models_)
      system.pull(column, -effects_[column], 1 / (kModelSpread * kModelSpread));
  }

  void add_case(const ParallelCase& one, LeastSquares& system) const {
    const double off = residual(one), spread = spread_of(one);
    std::vector<LeastSquares::Term> terms{{source_of(one), 1}, {model_of(one), 1}};
    const auto of_constants = slopes(one, values_);
    for (std::size_t i = 0; i < of_constants.size(); ++i)
      if (std::abs(of_constants[i]) > 1e-9) terms.push_back({i, of_constants[i]});
    const double weight = 1 / (spread * spread) * std::min(1.0, kHuber * spread / (std::abs(off) + 1e-12));
    system.add(terms, off, weight);
  }

  void step(const std::vector<double>& change) {
    for (std::size_t i = 0; i < kParallelConstants; ++i)
      values_[i] *= std::exp(std::clamp(change[i], -0.4, 0.4));
    for (std::size_t i = kParallelConstants; i < effects_.size(); ++i) effects_[i] += change[i];
  }

  double left_over() const {
    double sum = 0;
    for (const auto* one : cases_) sum += residual(*one) * residual(*one);
    return cases_.empty() ? 0 : std::sqrt(sum / double(cases_.size()));
  }

  std::span<const ParallelCase* const> cases_;
  const ParallelModel& model_;
  ParallelValues values_{};
  std::size_t effects_count_ = 0;
  std::map<std::string, std::size_t> sources_, models_;  // columns
  std::vector<double> effects_;                          // by column
};

}  // namespace

ParallelFit fit_parallel(std::span<const ParallelCase* const> cases, const ParallelModel& model,
                         const ParallelValues& start, int rounds) {
  return Fitter(cases, model).fit(start, rounds);
}

Seconds step_given(const ParallelCase& run, const ParallelCase& other, const ParallelFit& fit) {
  const double off = std::log(other.measured) - log_step(other, fit.values);
  const double own = spread_of(other) * spread_of(other);
  const double share = shared_variance(run, other, fit) / (shared_variance(other, other, fit) + own);
  return std::exp(log_step(run, fit.values) + share * off);
}

std::vector<const ParallelCase*> learnable(std::span<const ParallelCase> cases) {
  std::vector<const ParallelCase*> chosen;
  for (const auto& one : cases)
    if (one.quality != Quality::odd && one.measured > 0) chosen.push_back(&one);
  return chosen;
}

std::vector<const ParallelCase*> without_source(std::span<const ParallelCase* const> cases,
                                                const std::string& group, const std::string& platform) {
  std::vector<const ParallelCase*> chosen;
  for (const auto* one : cases)
    if (one->group != group && one->platform != platform) chosen.push_back(one);
  return chosen;
}

std::string parallel_yaml(const ParallelFit& fit, const ParallelModel& model) {
  std::string text;
  for (std::size_t i = 0; i < kParallelConstants; ++i)
    text += fmt::format("  - {{name: {}, value: {:.4g}, prior: {:.4g}, spread: {:.3g}, source: \"{}\"}}\n",
                        model.priors[i].name, fit.values[i], model.priors[i].prior, model.priors[i].spread,
                        model.priors[i].source);
  return text;
}

}  // namespace gradwire

#include "predict/calibration/fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "predict/calibration/least_squares.h"

namespace gradwire {
namespace {

// Chosen by cross-validation over platforms; flat around these values.
constexpr int kRounds = 8;
constexpr double kDoubt = 0.06;        // a relative error beyond which a row loses weight
constexpr double kSmoothness = 2;      // pull between neighbouring knots
constexpr double kRampStrength = 0.1;  // of a class's strength, for each of its knots

struct Columns {
  std::map<std::string, std::size_t> latency, transfer, ramp;  // the first column of each class
  std::vector<double> strength;                                // of each column

  void add(std::map<std::string, std::size_t>& of, const CalibrationClass& one, std::size_t count,
           double share) {
    if (!of.try_emplace(one.name, strength.size()).second) return;
    strength.insert(strength.end(), count, one.strength * share);
  }
};

Columns columns_of(std::span<const FitSample> samples) {
  Columns columns;
  for (const FitSample& sample : samples) {
    for (const auto& one : sample.classes.latency) columns.add(columns.latency, one, 1, 1);
    for (const auto& one : sample.classes.rate) columns.add(columns.transfer, one, 1, 1);
    for (const auto& one : sample.classes.ramp)
      columns.add(columns.ramp, one, kRampKnots.size(), kRampStrength);
  }
  return columns;
}

LeastSquares penalties(const Columns& columns) {
  LeastSquares system(columns.strength.size());
  for (std::size_t i = 0; i < columns.strength.size(); ++i) system.pull(i, columns.strength[i]);
  for (const auto& [name, first] : columns.ramp)
    for (std::size_t i = 0; i + 1 < kRampKnots.size(); ++i)
      system.pull_together(first + i, first + i + 1, kSmoothness);
  return system;
}

// One measured row, linearized around the current factors.
struct Linear {
  std::vector<LeastSquares::Term> terms;
  double predicted = 0;  // logarithm of seconds
};

Linear linearize(const FitSample& sample, const Columns& columns, const Calibration& now) {
  const Correction correction = sample.known + now.find(sample.classes);
  const double latency = sample.latency * std::exp(correction.latency);
  const double transfer = sample.transfer * std::exp(correction.transfer);
  const double share = latency / (latency + transfer);
  Linear row{{}, std::log(corrected_time(sample.latency, sample.transfer, correction))};
  for (const auto& one : sample.classes.latency) row.terms.push_back({columns.latency.at(one.name), share});
  for (const auto& one : sample.classes.rate) row.terms.push_back({columns.transfer.at(one.name), 1 - share});
  const RampPlace place = ramp_place(latency, transfer);
  for (const auto& one : sample.classes.ramp) {
    const std::size_t first = columns.ramp.at(one.name) + place.index;
    row.terms.push_back({first, 1 - place.share});
    row.terms.push_back({first + 1, place.share});
  }
  return row;
}

Calibration named(const Columns& columns, const std::vector<double>& values) {
  Calibration calibration;
  for (const auto& [name, i] : columns.latency) calibration.latency[name] = values[i];
  for (const auto& [name, i] : columns.transfer) calibration.transfer[name] = values[i];
  for (const auto& [name, i] : columns.ramp)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i), kRampKnots.size(),
                calibration.ramp[name].begin());
  return calibration;
}

void note_groups(std::span<const FitSample> samples, Calibration& calibration) {
  std::map<std::string, std::set<std::string>> groups;
  for (const FitSample& sample : samples)
    for (const auto* classes : {&sample.classes.latency, &sample.classes.rate, &sample.classes.ramp})
      for (const auto& one : *classes) groups[one.name].insert(sample.group);
  for (const auto& [name, all] : groups) calibration.fitted_on[name].assign(all.begin(), all.end());
}

}  // namespace

Calibration fit(std::span<const FitSample> samples) {
  const Columns columns = columns_of(samples);
  const LeastSquares penalty = penalties(columns);
  Calibration calibration;
  std::vector<double> values(columns.strength.size());
  for (int round = 0; round < kRounds; ++round) {
    LeastSquares system = penalty;
    for (const FitSample& sample : samples) {
      const Linear row = linearize(sample, columns, calibration);
      const double error = std::log(sample.measured) - row.predicted;
      double target = error;
      for (const auto& term : row.terms) target += term.factor * values[term.column];
      const double trust = round == 0 ? 1 : 1 / std::max(1.0, std::abs(error) / kDoubt);
      system.add(row.terms, target, sample.weight * trust);
    }
    values = system.solve();
    calibration = named(columns, values);
  }
  note_groups(samples, calibration);
  return calibration;
}

}  // namespace gradwire

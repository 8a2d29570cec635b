#include "predict/calibration/fit.h"

#include <algorithm>
#include <cmath>

#include "predict/calibration/least_squares.h"
#include "predict/nccl/price.h"

namespace gradwire {
namespace {

constexpr int kRounds = 8;
constexpr double kNoise = 0.1;     // of a row, relative
constexpr double kDoubt = 0.2;     // a logarithm at which a row counts half (Cauchy)
constexpr double kSlope = 0.02;    // of a logarithm, for slopes
constexpr double kMostMove = 0.5;  // of a logarithm, in one round
constexpr double kEnough = 0.002;
// What rows scatter by around the constants of their own machine: the median of the built-in sweeps. It counts as two rows,
// since two or three rows always fit.
constexpr double kUsualScatter = 0.055, kAsRows = 2;

std::vector<double> times_of(const FitSweep& sweep, const NcclPrice& price) {
  std::vector<double> times;
  times.reserve(sweep.rows.size());
  for (const FitRow& row : sweep.rows) times.push_back(price.time(row.choice, row.bytes));
  return times;
}

std::vector<double> logarithms(const FitSweep& sweep, const NcclPrice& price) {
  std::vector<double> times = times_of(sweep, price);
  for (double& time : times) time = std::log(time);
  return times;
}

// How each row's logarithm answers to each constant's. Most constants matter to few rows.
std::vector<std::vector<LeastSquares::Term>> slopes(const FitSweep& sweep, const NcclPrice& price,
                                                    const std::vector<double>& here) {
  std::vector<std::vector<LeastSquares::Term>> terms(here.size());
  const auto times = times_of(sweep, price);
  for (std::size_t i = 0; i < kNcclConstants; ++i) {
    const auto there = times_of(sweep, price.with(i, std::exp(kSlope)));
    for (std::size_t row = 0; row < here.size(); ++row)
      if (there[row] != times[row]) terms[row].push_back({i, (std::log(there[row]) - here[row]) / kSlope});
  }
  return terms;
}

void add_sweep(const FitSweep& sweep, const NcclConstants& constants, LeastSquares& system) {
  const NcclPrice price(*sweep.fabric, constants);
  const auto here = logarithms(sweep, price);
  const auto terms = slopes(sweep, price, here);
  for (std::size_t row = 0; row < here.size(); ++row) {
    const double residual = std::log(sweep.rows[row].measured) - here[row];
    const double off = residual / kDoubt, doubt = 1 / (1 + off * off);
    system.add(terms[row], residual, sweep.weight * doubt / (kNoise * kNoise));
  }
}

// The most probable values, their spreads, and how they vary together.
std::pair<Calibration, std::vector<double>> most_probable(std::span<const FitSweep> sweeps,
                                                          const FitStart& start) {
  Calibration found{start.values, start.spreads, {}};
  std::vector<double> together;
  for (int round = 0; round < kRounds; ++round) {
    LeastSquares system(kNcclConstants);
    for (std::size_t i = 0; i < kNcclConstants; ++i)
      system.pull(i, std::log(start.values[i] / found.values[i]), 1 / (start.spreads[i] * start.spreads[i]));
    for (const FitSweep& sweep : sweeps) add_sweep(sweep, found.values, system);
    const auto moves = system.solve();
    double most = 0;
    for (std::size_t i = 0; i < kNcclConstants; ++i) {
      most = std::max(most, std::abs(moves[i]));
      found.values[i] *= std::exp(std::clamp(moves[i], -kMostMove, kMostMove));
    }
    together = system.covariance(kNcclConstants);
    if (most < kEnough) break;
  }
  for (std::size_t i = 0; i < kNcclConstants; ++i)
    found.spreads[i] = std::sqrt(together[i * kNcclConstants + i]);
  return {found, together};
}

// Squares of what rows are off by, and how many rows are left after those that the constants took.
struct Scatter {
  double squares = kAsRows * kUsualScatter * kUsualScatter, rows = 0;

  void add(const FitSweep& sweep, const NcclConstants& constants) {
    const auto here = logarithms(sweep, NcclPrice(*sweep.fabric, constants));
    for (std::size_t row = 0; row < here.size(); ++row, rows += sweep.weight)
      squares += sweep.weight * std::pow(std::log(sweep.rows[row].measured) - here[row], 2);
  }
  double variance(double taken) const { return squares / (kAsRows + std::max(0.0, rows - taken)); }
};

}  // namespace

FitStart nccl_prior_start() {
  FitStart start;
  for (std::size_t i = 0; i < kNcclConstants; ++i)
    start.values[i] = nccl_priors()[i].value, start.spreads[i] = nccl_priors()[i].spread;
  return start;
}

Calibration fit(std::span<const FitSweep> sweeps, const FitStart& start) {
  return most_probable(sweeps, start).first;
}

Calibration fit_own(const Calibration& of_all, std::span<const FitSweep> sweeps) {
  constexpr double kOwn = 0.6;  // how far one machine's constants lie from those of all
  FitStart start{of_all.values, of_all.spreads};
  for (double& spread : start.spreads) spread = std::max(spread, kOwn);
  auto [moved, together] = most_probable(sweeps, start);
  Scatter scatter;
  for (const FitSweep& sweep : sweeps) scatter.add(sweep, moved.values);
  double taken = 0;  // rows, by constants that had to follow them
  for (std::size_t i = 0; i < kNcclConstants; ++i)
    taken += 1 - std::pow(moved.spreads[i] / start.spreads[i], 2);
  const double variance = scatter.variance(taken);
  for (double& one : together) one *= std::max(1.0, variance / (kNoise * kNoise));
  Calibration own = of_all;
  own.values = moved.values;
  own.own = {std::move(together), std::sqrt(variance)};
  return own;
}

}  // namespace gradwire

#include "sim/fit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr int kCosts = 5, kMostRounds = 50;
constexpr double kNudge = 1e-4;        // of a cost, to see what it does
constexpr double kGoodEnough = 1e-10;  // less improvement than this ends the search

// The costs as numbers that times are linear in: seconds, seconds a byte, and the inverse of the efficiency.
using Costs = std::array<double, kCosts>;

Costs costs_of(const CostModel& model) {
  return {model.per_step, model.per_message, 1 / model.reduce_bytes_per_s, 1 / model.copy_bytes_per_s,
          1 / model.efficiency};
}

// No pipe is infinitely fast, so the last cost can't be 0.
CostModel model_of(const Costs& costs) {
  return {.per_step = costs[0],
          .per_message = costs[1],
          .reduce_bytes_per_s = 1 / costs[2],
          .copy_bytes_per_s = 1 / costs[3],
          .efficiency = 1 / std::max(costs[4], 1e-6)};
}

// What a nudge of each cost is measured by when it is still 0: times of microseconds, rates of 10 GB/s.
constexpr Costs kScale = {1e-6, 1e-6, 1e-10, 1e-10, 1};

double squares(std::span<const Measured> measured, const Costs& costs) {
  const CostModel model = model_of(costs);
  double sum = 0;
  for (const Measured& one : measured) sum += std::pow(std::log(one.simulated(model) / one.time), 2);
  return sum;
}

// One linear step: how every time changes with every cost gives equations for the best costs, of which none
// may be below 0. A little of "stay where you are" settles costs that nothing is known about.
Costs improved(std::span<const Measured> measured, const Costs& costs) {
  std::vector<std::vector<double>> a;
  std::vector<double> b;
  const CostModel model = model_of(costs);
  for (const Measured& one : measured) {
    const Seconds now = one.simulated(model);
    std::vector<double> row(kCosts);
    double target = std::log(one.time / now);
    for (int k = 0; k < kCosts; ++k) {
      Costs nudged = costs;
      const double nudge = kNudge * std::max(costs[k], kScale[k]);
      nudged[k] += nudge;
      row[k] = (one.simulated(model_of(nudged)) / now - 1) / nudge * kScale[k];
      target += row[k] * costs[k] / kScale[k];
    }
    a.push_back(std::move(row));
    b.push_back(target);
  }
  for (int k = 0; k < kCosts; ++k) {
    constexpr double kStay = 1e-6;
    std::vector<double> row(kCosts);
    row[k] = kStay;
    a.push_back(std::move(row));
    b.push_back(kStay * costs[k] / kScale[k]);
  }
  const std::vector<double> solved = solve_non_negative(a, b);
  Costs result;
  for (int k = 0; k < kCosts; ++k) result[k] = solved[k] * kScale[k];
  return result;
}

// The whole step, or half of it, a quarter, ... whatever makes it better; nothing if nothing does.
bool step_towards(std::span<const Measured> measured, const Costs& to, Costs& costs, double& error) {
  for (double part = 1; part > 1e-3; part /= 2) {
    Costs tried = costs;
    for (int k = 0; k < kCosts; ++k) tried[k] += part * (to[k] - costs[k]);
    const double tried_error = squares(measured, tried);
    if (tried_error >= error * (1 - kGoodEnough)) continue;
    costs = tried;
    error = tried_error;
    return true;
  }
  return false;
}

}  // namespace

// By coordinates: each unknown in turn is put where it fits best with the others as they are, or at 0. That
// converges for least squares, and quickly for a handful of unknowns.
std::vector<double> solve_non_negative(const std::vector<std::vector<double>>& a,
                                       const std::vector<double>& b) {
  const std::size_t n = a.empty() ? 0 : a[0].size();
  std::vector<std::vector<double>> normal(n, std::vector<double>(n));
  std::vector<double> right(n), x(n);
  for (std::size_t row = 0; row < a.size(); ++row)
    for (std::size_t i = 0; i < n; ++i) {
      right[i] += a[row][i] * b[row];
      for (std::size_t j = 0; j < n; ++j) normal[i][j] += a[row][i] * a[row][j];
    }
  for (int round = 0; round < 20'000; ++round) {
    double moved = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (normal[i][i] == 0) continue;
      double rest = right[i];
      for (std::size_t j = 0; j < n; ++j) rest -= j == i ? 0 : normal[i][j] * x[j];
      const double better = std::max(0.0, rest / normal[i][i]);
      moved += std::abs(better - x[i]);
      size += better;
      x[i] = better;
    }
    if (moved <= 1e-14 * size) break;
  }
  return x;
}

FittedCost fit_cost(std::span<const Measured> measured, const CostModel& start) {
  check_cost(start);
  if (measured.empty()) throw ConfigError("nothing was measured, so nothing can be fitted");
  for (const Measured& one : measured)
    if (!(one.time > 0) || !std::isfinite(one.time))
      throw ConfigError(fmt::format("a measured time of {} s: it must be above 0", one.time));
  for (const Measured& one : measured)
    if (!(one.simulated(start) > 0))
      throw ConfigError("a measured call takes no time in the model: start with costs above 0");
  FittedCost fitted;
  Costs costs = costs_of(start);
  double error = squares(measured, costs);
  while (fitted.rounds < kMostRounds && step_towards(measured, improved(measured, costs), costs, error))
    ++fitted.rounds;
  fitted.cost = model_of(costs);
  for (const Measured& one : measured) {
    const double apart = std::abs(one.simulated(fitted.cost) / one.time - 1);
    fitted.error.mean += apart / static_cast<double>(measured.size());
    fitted.error.worst = std::max(fitted.error.worst, apart);
  }
  return fitted;
}

}  // namespace gradwire

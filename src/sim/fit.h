// The cost model of a backend from what was measured of it: the numbers with which simulated programs take
// the times that real ones took. This is how a model of this machine is calibrated.
#pragma once

#include <functional>
#include <span>

#include "sim/cost.h"
#include "sim/curve.h"

namespace gradwire {

// One measured call and the simulation of the same call. `simulated` is above 0 and grows with every cost.
struct Measured {
  std::function<Seconds(const CostModel&)> simulated;
  Seconds time = 0;
};

struct FittedCost {
  CostModel cost;
  FitError error;
  int rounds = 0;  // of improving
};

// Least squares of log(simulated / measured), no cost below 0, from `start` on, by linear steps: times are
// sums along the longest path, so they are straight lines in the costs (in seconds, and seconds for each
// byte) until another path is longer. A cost that the measurements say nothing about stays where it started.
FittedCost fit_cost(std::span<const Measured> measured, const CostModel& start);

// min |a x - b| with x >= 0, of few unknowns; `a` has a row for each equation.
std::vector<double> solve_non_negative(const std::vector<std::vector<double>>& a,
                                       const std::vector<double>& b);

}  // namespace gradwire

// Finds the constants of the step model from measured steps, and says how well they carry over: leave-one-out
// by platform. Deterministic.
#pragma once

#include <string>
#include <vector>

#include "predict/step/step.h"

namespace gradwire {

struct MeasuredStep {
  StepProblem problem;
  Seconds step = 0;      // measured
  std::string platform;  // what is left out together
};

// Of throughput, predicted over measured less 1: positive when the model is too optimistic.
double relative_error(const MeasuredStep&, const StepConstants&);

// Mean absolute error, each counted as at most one half so that a single wrong record does not decide.
double mean_error(const std::vector<MeasuredStep>&, const StepConstants&);

// Walks one constant after another down, in shrinking steps, from `start`.
StepConstants fit_constants(const std::vector<MeasuredStep>&, StepConstants start);

// The constants for a platform: fitted to all others, with the same start.
StepConstants fit_without(const std::vector<MeasuredStep>&, const std::string& platform,
                          const StepConstants& start);

// Where fits begin: round numbers of the right order, not the result of a fit.
StepConstants fit_start();

}  // namespace gradwire

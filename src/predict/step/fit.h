// Finds the constants of the step model from measured steps, and says how well they carry over: leave-one-out
// by platform. Deterministic.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "predict/step/step.h"

namespace gradwire {

// Walks one knob after another down the error, in shrinking steps, from `best`. `error` may first put right what can't be.
template <typename Constants>
Constants walk_down(Constants best, const std::vector<std::function<double&(Constants&)>>& knobs,
                    const std::function<double(Constants&)>& error) {
  double least = error(best);
  for (const double factor : {2.0, 1.5, 1.25, 1.12, 1.05, 1.02})
    for (int round = 0; round < 6; ++round)
      for (const auto& knob : knobs)
        for (const double change : {factor, 1 / factor}) {
          auto candidate = best;
          knob(candidate) *= change;
          if (const double trial = error(candidate); trial < least - 1e-9) least = trial, best = candidate;
        }
  return best;
}

struct MeasuredStep {
  StepProblem problem;
  Seconds step = 0;      // measured
  std::string platform;  // what is left out together
};

// Of throughput, predicted over measured less 1: positive when the model is too optimistic.
double relative_error(const MeasuredStep&, const StepConstants&);

// Mean absolute error, each counted as at most one half so that a single wrong record does not decide.
double mean_error(const std::vector<MeasuredStep>&, const StepConstants&);

// From `start` on.
StepConstants fit_constants(const std::vector<MeasuredStep>&, StepConstants start);

// The constants for a platform: fitted to all others, with the same start.
StepConstants fit_without(const std::vector<MeasuredStep>&, const std::string& platform,
                          const StepConstants& start);

// Where fits begin: round numbers of the right order, not the result of a fit.
StepConstants fit_start();

}  // namespace gradwire

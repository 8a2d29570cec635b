// Finds the constants of a plan's price from published runs: jointly, by least squares on the logarithm of the step,
// each constant drawn to its prior, and every source (group of records) and model of it with an effect of its own,
// so that constants learn from what differs inside a source and not from how good its software was. Deterministic.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "predict/parallel/cases.h"

namespace gradwire {

struct ParallelFit {
  ParallelValues values{};
  std::vector<double> covariance;  // of their logarithms, row by row
  double left = 0;                 // standard deviation of what constants and effects leave
};

// `start` is where the walk begins; priors are the model's.
ParallelFit fit_parallel(std::span<const ParallelCase* const>, const ParallelModel&,
                         const ParallelValues& start, int rounds = 10);

// The step of a run where another of its source was measured: the constants, the source and its model are moved by
// what that one was off, each as far as it is uncertain.
Seconds step_given(const ParallelCase& run, const ParallelCase& other, const ParallelFit&);

// All cases that may be learnt from: with a step, and not odd.
std::vector<const ParallelCase*> learnable(std::span<const ParallelCase>);

// Those that share neither group nor platform with a case that is to be judged.
std::vector<const ParallelCase*> without_source(std::span<const ParallelCase* const>,
                                                const std::string& group, const std::string& platform);

std::string parallel_yaml(const ParallelFit&,
                          const ParallelModel&);  // presets/parallel.yaml with these values

}  // namespace gradwire

// What the errors of a validation come to: means and medians, by what they are of.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <vector>

#include "predict/parallel/validation.h"

namespace gradwire {

// An error, below 0 where it was said too small, and how much it counts.
struct CountedError {
  double error = 0, weight = 1;
};

double mean_of(std::span<const CountedError>);  // of their absolute values, as that below
// The absolute error that so large a share of all lies below; the middle of two where it falls between them.
double quantile_of(std::vector<CountedError>, double share);

// What errors are of, in the order they are told: steps with what was given, dense models and mixtures of experts apart;
// ratios between plans, then all and by what differs; and steps with nothing given, by strategy and by source.
enum class ErrorsOf : std::uint8_t { step, plan_ratio, ratio, strategy, source };
enum class GivenRun : std::uint8_t { any_other, nearest, nothing };
struct ErrorPart {
  ErrorsOf of = ErrorsOf::step;
  GivenRun given = GivenRun::nothing;
  bool moe = false;
  std::string name = {};  // of what differs, empty: all; of the strategy; of the source
  auto operator<=>(const ErrorPart&) const = default;
};

struct ErrorLine {
  ErrorPart part;
  int count = 0;  // of runs or ratios
  double mean = 0, median = 0,
         floor = 0;  // mean and median of absolute errors; mean of what needs no physics
};

std::vector<ErrorLine> summarize(const ParallelValidation&);

}  // namespace gradwire

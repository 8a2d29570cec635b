// A training run as a Report: what it is before it begins, and what came of it.
#pragma once

#include "report/report.h"
#include "train/job/options.h"
#include "train/job/result.h"

namespace gradwire {

double samples_per_second(const TrainOptions& options, const TrainResult& result);

// A step that so many ranks have taken.
struct TakenStep {
  int ranks = 1, step = 0;
  double loss = 0;
  Seconds time = 0;
};
std::string step_line(const TrainOptions&, const TakenStep&);  // "step 3 of 50  loss 2.3026  812.4 samples/s"

Report run_report(const TrainOptions& options, const TrainResult& result);  // before the first step
Report train_report(const TrainOptions& options, const TrainResult& result);

}  // namespace gradwire

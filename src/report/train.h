// A training run as a Report: what it is before it begins, and what came of it.
#pragma once

#include "report/report.h"
#include "train/job/options.h"
#include "train/job/result.h"

namespace gradwire {

double samples_per_second(const TrainOptions& options, const TrainResult& result);

Report run_report(const TrainOptions& options, const TrainResult& result);  // before the first step
Report train_report(const TrainOptions& options, const TrainResult& result);

}  // namespace gradwire

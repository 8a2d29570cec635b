// Predictions of published runs of parallel training as part of what `gradwire validate` says.
#pragma once

#include "predict/parallel/validation.h"
#include "report/report.h"

namespace gradwire {

// Adds its tables behind what the report has, and its records and summaries to the report's data.
void add_parallel(Report&, const ParallelValidation&, int most_points);

}  // namespace gradwire

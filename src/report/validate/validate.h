// What `gradwire validate` found, as a Report and as docs/accuracy.md.
#pragma once

#include <string>

#include "predict/parallel/validation.h"
#include "predict/step/validation.h"
#include "report/report.h"

namespace gradwire {

// "collective", "training", or "training_pair" for the ratio of two values that differ in their link.
std::string kind_name(const ValidationPoint&);

Report validation_report(const Validation&, int most_points);
std::string validation_markdown(const Validation&, std::span<const Record>,
                                const std::vector<std::string>& files);

// Predictions of published runs of parallel training as part of what `gradwire validate` says.

// Adds its tables behind what the report has, and its records and summaries to the report's data.
void add_parallel(Report&, const ParallelValidation&, int most_points);

}  // namespace gradwire

// What `gradwire validate` found, as a Report and as docs/accuracy.md.
#pragma once

#include <string>

#include "predict/step/validation.h"
#include "report/report.h"

namespace gradwire {

// "collective", "training", or "training_pair" for the ratio of two values that differ in their link.
std::string kind_name(const ValidationPoint&);

Report validation_report(const Validation&, int most_points);
std::string validation_markdown(const Validation&, std::span<const Record>,
                                const std::vector<std::string>& files);

}  // namespace gradwire

// What `gradwire validate` found, as a Report and as docs/accuracy.md.
#pragma once

#include <string>
#include <vector>

#include "base/names.h"
#include "predict/parallel/validation.h"
#include "predict/step/validation.h"
#include "report/report.h"

namespace gradwire {

// A pair is the ratio of two values that differ in their link.
enum class PointKind : std::uint8_t { collective, training, training_pair };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<PointKind> = {"collective", "training",
                                                                        "training_pair"};
PointKind kind_of(const ValidationPoint&);
std::vector<ValidationPoint> counted_of(const std::vector<ValidationPoint>&, PointKind);  // those that count

// In sentences: what stands in where a record is silent, what speaks against it, and what could not be predicted and why.
std::vector<std::string> sentences_of(const Assumed&);
std::string to_words(const Doubt&);
std::vector<std::string> unpredicted_words(const Validation&);

Report validation_report(const Validation&, int most_points);
std::string validation_markdown(const Validation&, std::span<const Record>,
                                const std::vector<std::string>& files);

// Predictions of published runs of parallel training as part of what `gradwire validate` says.

// Adds its tables behind what the report has, and its records and summaries to the report's data.
void add_parallel(Report&, const ParallelValidation&, int most_points);

}  // namespace gradwire

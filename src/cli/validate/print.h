// What `gradwire validate` found, as people, programs and docs/accuracy.md read it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/validate/validation.h"

namespace gradwire {

// "collective", "training", or "training_pair" for the ratio of two values that differ in their link.
std::string kind_name(const ValidationPoint&);

std::string validation_text(const Validation&, int most_points);
nlohmann::json validation_json(const Validation&);
std::string validation_markdown(const Validation&, std::span<const Record>,
                                const std::vector<std::string>& files);

}  // namespace gradwire

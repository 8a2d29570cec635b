// The training half of `gradwire validate`.
#pragma once

#include "cli/validate/validation.h"

namespace gradwire {

// Predicts the values of training records with collectives calibrated on `known` without the record's
// platform.
void add_training(std::span<const Record>, std::span<const PreparedRecord> known, Validation&);

}  // namespace gradwire

#include "cli/validate/validation.h"

#include "cli/validate/training.h"

namespace gradwire {

// A calibration may rest on every record we know but those of the platform it is asked about.
Validation validate(std::span<const Record> records, bool thorough) {
  Validation validation;
  const std::vector<PreparedRecord> asked = prepare(records, &validation.skipped);
  const std::vector<PreparedRecord> known = prepare(built_in_records());
  validation.points = cross_validate(asked, known);
  if (thorough) {
    validation.own_sweep = validate_with_own_sweep(asked, known);
    validation.by_group = cross_validate(asked, known, LeaveOut::group);
  }
  add_training(records, known, validation);
  return validation;
}

}  // namespace gradwire

#include "predict/step/validation.h"

#include <algorithm>

#include "predict/step/training.h"
#include "predict/validation/summary.h"

namespace gradwire {
namespace {

// Predicts the values of training records with collectives calibrated on `known` without the record's platform.
void add_training(std::span<const Record> records, std::span<const PreparedRecord> known,
                  Validation& validation) {
  const bool any =
      std::any_of(records.begin(), records.end(), [](const Record& one) { return one.training.has_value(); });
  if (!any) return;
  CalibrationsWithout calibrations(known);
  const CalibrationOf without = [&](const std::string& platform) -> const Calibration& {
    return calibrations.of(platform);
  };
  const auto asked = training_cases({records.begin(), records.end()}, without);
  const auto constants = constants_without_each(built_in_training_records(), without);
  const auto points = predict_training(asked, constants, default_step_constants());
  validation.points.insert(validation.points.end(), points.begin(), points.end());
  for (const auto& [what, skipped] : asked.left_out) validation.skipped.push_back(skipped);
}

void add_doubts(std::span<const Record> records, Validation& validation) {
  for (const Record& record : records)
    if (auto doubt = find_doubt(record, validation.points)) validation.doubts[record.id] = std::move(*doubt);
}

}  // namespace

// A calibration may rest on every record we know but those of the platform it is asked about.
Validation validate(std::span<const Record> records, bool thorough) {
  Validation validation;
  const std::vector<PreparedRecord> asked = prepare(records, &validation.skipped);
  const std::vector<PreparedRecord> known = prepare(built_in_records());
  validation.points = cross_validate(asked, known);
  if (thorough) {
    validation.own_sweep = validate_with_own_sweep(asked, known);
    validation.by_group = cross_validate(asked, known, LeaveOut::group);
    validation.by_kind = cross_validate(asked, known, LeaveOut::kind);
    validation.by_generation = cross_validate(asked, known, LeaveOut::generation);
  }
  add_training(records, known, validation);
  drop_unpredicted(validation.points, validation.skipped);
  std::vector<Skipped> said_above;  // the same rows again
  for (auto* points :
       {&validation.own_sweep, &validation.by_group, &validation.by_kind, &validation.by_generation})
    drop_unpredicted(*points, said_above);
  add_doubts(records, validation);
  return validation;
}

}  // namespace gradwire

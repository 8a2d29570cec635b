#include "cli/validate/validation.h"

#include "cli/validate/training.h"
#include "predict/validation/doubts.h"

namespace gradwire {

namespace {

void add_doubts(std::span<const Record> records, Validation& validation) {
  for (const Record& record : records)
    if (auto doubt = doubt_of(record, validation.points); !doubt.empty())
      validation.doubts[record.id] = {record.quality, std::move(doubt)};
  for (ValidationPoint& point : validation.points)
    if (const auto found = validation.doubts.find(point.id); found != validation.doubts.end())
      point.remark = found->second.reason;
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
  }
  add_training(records, known, validation);
  drop_unpredicted(validation.points, validation.skipped);
  std::vector<std::string> said_above;  // the same rows again
  drop_unpredicted(validation.own_sweep, said_above);
  drop_unpredicted(validation.by_group, said_above);
  add_doubts(records, validation);
  return validation;
}

}  // namespace gradwire

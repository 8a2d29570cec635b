#include "cli/validate/training.h"

#include <fmt/format.h>

#include <algorithm>

#include "predict/step/training.h"

namespace gradwire {
namespace {

ValidationPoint point_of(const TrainingPrediction& prediction) {
  ValidationPoint point;
  point.id = prediction.id;
  point.platform = point.group = prediction.platform;
  point.point = prediction.point;
  point.kind = RecordKind::training;
  point.quality = prediction.quality;
  point.measured = prediction.measured;
  point.predicted = prediction.predicted;
  point.alpha_beta = prediction.plain;
  point.scope = prediction.scope;
  point.assumed = prediction.assumed;
  point.pair = prediction.kind == "training_pair";
  return point;
}

}  // namespace

void add_training(std::span<const Record> records, std::span<const PreparedRecord> known,
                  Validation& validation) {
  const bool any =
      std::any_of(records.begin(), records.end(), [](const Record& one) { return one.training.has_value(); });
  if (!any) return;
  CalibrationsWithout calibrations(known);
  const CalibrationOf without = [&](const std::string& platform) -> const Calibration& {
    return calibrations.platform(platform);
  };
  const auto asked = training_cases({records.begin(), records.end()}, without);
  const auto constants = constants_without_each(built_in_training_records(), without);
  for (const auto& prediction : predict_training(asked, constants, default_step_constants()))
    validation.points.push_back(point_of(prediction));
  for (const auto& [what, why] : asked.left_out)
    validation.skipped.push_back(fmt::format("{}: {}", what, why));
}

}  // namespace gradwire

#include "predict/validation/doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "predict/validation/remarks.h"

namespace gradwire {
namespace {

constexpr double kLinear = 1.03;  // above this, more than noise
constexpr double kFar = 0.25;     // twice the mean error of what counts (docs/accuracy.md)

bool same_batch(const TrainingValue& a, const TrainingValue& b) {
  return a.batch_per_gpu == b.batch_per_gpu && a.accumulate == b.accumulate;
}

std::string above_linear(const TrainingRecord& record) {
  for (const TrainingValue& anchor : record.values)
    for (const TrainingValue& value : record.values) {
      const double share = value.samples_per_s / (value.gpus * anchor.samples_per_s);
      if (anchor.anchor && anchor.gpus == 1 && same_batch(anchor, value) && share > kLinear)
        return fmt::format("{} GPUs at {:.0f} % of linear", value.gpus, 100 * share);
    }
  return "";
}

std::string far_off(const ValidationPoint& point) {
  if (std::abs(point.error()) < kFar) return "";
  const bool time = point.kind == RecordKind::collective;
  return fmt::format("{}: measured {:.3g} times the predicted {}", point.point,
                     point.measured / point.predicted,
                     time         ? "time"
                     : point.pair ? "ratio"
                                  : "rate");
}

std::string worst_of(const Record& record, std::span<const ValidationPoint> points) {
  const ValidationPoint* worst = nullptr;
  for (const ValidationPoint& point : points)
    if (point.id == record.id && (!worst || std::abs(point.error()) > std::abs(worst->error())))
      worst = &point;
  return worst ? far_off(*worst) : "";
}

}  // namespace

std::string doubt_of(const Record& record, std::span<const ValidationPoint> points) {
  if (record.quality == Quality::ok) return "";
  std::vector<std::string> reasons = {record.notes};
  if (record.quality == Quality::odd) {
    reasons.push_back(find_remark(record.id).value_or(""));
    if (record.training) reasons.push_back(above_linear(*record.training));
    reasons.push_back(worst_of(record, points));
  }
  std::erase_if(reasons, [&](const std::string& reason) { return reason.empty(); });
  return reasons.empty() ? "the record does not say why" : join(reasons, "; ");
}

}  // namespace gradwire

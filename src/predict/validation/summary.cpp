#include "predict/validation/summary.h"

#include <algorithm>
#include <cmath>

#include "predict/presets.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

constexpr Bytes kLargeBuffer = 1000 * 1000;

double at_share(const std::vector<double>& sorted, double share) {
  const auto index = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(index, sorted.size() - 1)];
}

double median(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

constexpr double kLinear = 1.03;  // above this, more than noise
constexpr double kFar = 0.25;     // twice the mean error of what counts (docs/accuracy.md)

bool same_batch(const TrainingValue& a, const TrainingValue& b) {
  return a.batch_per_gpu == b.batch_per_gpu && a.accumulate == b.accumulate;
}

std::optional<AboveLinear> find_above_linear(const TrainingRecord& record) {
  for (const TrainingValue& anchor : record.values)
    for (const TrainingValue& value : record.values) {
      const double share = value.samples_per_s / (value.gpus * anchor.samples_per_s);
      if (anchor.anchor && anchor.gpus == 1 && same_batch(anchor, value) && share > kLinear)
        return AboveLinear{value.gpus, share};
    }
  return std::nullopt;
}

std::optional<ValidationPoint> find_far_off(const Record& record, std::span<const ValidationPoint> points) {
  const ValidationPoint* worst = nullptr;
  for (const ValidationPoint& point : points)
    if (point.id == record.id && (!worst || std::abs(point.error()) > std::abs(worst->error())))
      worst = &point;
  if (worst == nullptr || std::abs(worst->error()) < kFar) return std::nullopt;
  return *worst;
}

}  // namespace

ErrorSummary summarize(std::span<const ValidationPoint> points) {
  ErrorSummary summary;
  if (points.empty()) return summary;
  std::vector<double> errors;
  for (const ValidationPoint& point : points) {
    errors.push_back(std::abs(point.error()));
    summary.bias += point.error();
    summary.inside += point.inside();
    if (point.alpha_beta > 0 && std::isfinite(point.alpha_beta))
      summary.alpha_beta_error += std::abs(point.alpha_beta / point.measured - 1);
  }
  std::sort(errors.begin(), errors.end());
  const auto count = static_cast<double>(errors.size());
  for (const double error : errors) summary.mean_abs_error += error / count;
  summary.count = static_cast<int>(errors.size());
  summary.median_abs_error = median(errors);
  summary.p90_abs_error = at_share(errors, 0.9);
  summary.bias /= count;
  summary.inside /= count;
  summary.alpha_beta_error /= count;
  return summary;
}

bool counts(const ValidationPoint& point) { return point.quality == Quality::ok; }

bool is_large(const ValidationPoint& point) { return point.bytes >= kLargeBuffer; }

void drop_unpredicted(std::vector<ValidationPoint>& points, std::vector<Skipped>& skipped) {
  const auto useless = [](const ValidationPoint& point) {
    return !(std::isfinite(point.predicted) && point.predicted > 0 && std::isfinite(point.error()));
  };
  for (const ValidationPoint& point : points)
    if (useless(point)) skipped.push_back({point.id + " " + point.point, Unpredicted::not_finite});
  std::erase_if(points, useless);
}

std::vector<ValidationPoint> worst_first(std::vector<ValidationPoint> points) {
  std::stable_sort(points.begin(), points.end(), [](const ValidationPoint& a, const ValidationPoint& b) {
    return std::abs(a.error()) > std::abs(b.error());
  });
  return points;
}

std::optional<std::string> find_remark(std::string_view record_id) {
  return parse_yaml(predict_preset_text("remarks.yaml"), "presets/measured/remarks.yaml")
      .find_text(record_id);
}

std::optional<Doubt> find_doubt(const Record& record, std::span<const ValidationPoint> points) {
  if (record.quality == Quality::ok) return std::nullopt;
  Doubt doubt{.quality = record.quality, .note = record.notes};
  if (record.quality != Quality::odd) return doubt;
  doubt.remark = find_remark(record.id);
  if (record.training) doubt.above_linear = find_above_linear(*record.training);
  doubt.far_off = find_far_off(record, points);
  return doubt;
}

}  // namespace gradwire

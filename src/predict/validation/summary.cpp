#include "predict/validation/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

void drop_unpredicted(std::vector<ValidationPoint>& points, std::vector<std::string>& skipped) {
  const auto useless = [](const ValidationPoint& point) {
    return !(std::isfinite(point.predicted) && point.predicted > 0 && std::isfinite(point.error()));
  };
  for (const ValidationPoint& point : points)
    if (useless(point))
      skipped.push_back(fmt::format("{} {}: no finite prediction came out", point.id, point.point));
  std::erase_if(points, useless);
}

std::vector<ValidationPoint> worst_first(std::vector<ValidationPoint> points) {
  std::stable_sort(points.begin(), points.end(), [](const ValidationPoint& a, const ValidationPoint& b) {
    return std::abs(a.error()) > std::abs(b.error());
  });
  return points;
}

}  // namespace gradwire

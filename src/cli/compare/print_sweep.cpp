#include <fmt/format.h>

#include <cmath>

#include "cli/compare/print.h"
#include "report/chart.h"

namespace gradwire {
namespace {

std::string format_value(double value) {
  return value >= 100 || value == std::floor(value) ? fmt::format("{:.0f}", value)
                                                    : fmt::format("{:.3g}", value);
}

std::string unit_of(Axis axis) {
  return axis == Axis::gpus ? "GPUs" : axis == Axis::batch ? "batch" : "GB/s";
}

std::string sweep_table(const std::vector<SweepCurve>& curves, const SweepSpec& spec) {
  auto text = fmt::format("{:>8}", unit_of(spec.axis));
  for (const auto& curve : curves) text += fmt::format("  {:>32}", curve.on.substr(0, 32));
  text += "\n";
  for (const double value : spec.values) {
    text += fmt::format("{:>8}", format_value(value));
    for (const auto& curve : curves) {
      std::string cell = "-";
      for (const auto& point : curve.points)
        if (point.value == value)
          cell = fmt::format("{}/s {:.0f} ms {:.0f} %", format_value(point.estimate.samples_per_s),
                             point.estimate.step * 1e3, 100 * point.estimate.scaling);
      text += fmt::format("  {:>32}", cell);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string sweep_text(const std::vector<SweepCurve>& curves, const SweepSpec& spec,
                       const Workload& workload) {
  std::vector<Series> series;
  for (const auto& curve : curves) {
    Series one{curve.on, {}};
    for (const auto& point : curve.points) one.points.push_back({point.value, point.estimate.samples_per_s});
    series.push_back(one);
  }
  ChartOptions options;
  options.title = fmt::format("{}: {}/s over {}", workload.name, plural(workload.sample), unit_of(spec.axis));
  options.format_x = format_value;
  options.format_y = format_value;
  return draw_chart(series, options) + "\n" + sweep_table(curves, spec);
}

}  // namespace gradwire

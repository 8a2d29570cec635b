#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "cli/compare/print.h"
#include "report/chart.h"
#include "report/wrap.h"

namespace gradwire {
namespace {

std::string format_value(double value) {
  return value >= 100 || value == std::floor(value) ? fmt::format("{:.0f}", value)
                                                    : fmt::format("{:.3g}", value);
}

std::string unit_of(Axis axis) {
  return axis == Axis::gpus ? "GPUs" : axis == Axis::batch ? "batch" : "GB/s";
}

std::string cell_of(const SweepCurve& curve, double value) {
  for (const auto& point : curve.points)
    if (point.value == value)
      return fmt::format("{}/s {:.0f} ms {:.0f} %", format_value(point.estimate.samples_per_s),
                         point.estimate.step * 1e3, 100 * point.estimate.scaling);
  return "-";
}

// Machines beside each other, as many as fit a line; the others below.
std::string sweep_table(const std::vector<SweepCurve>& curves, const SweepSpec& spec) {
  constexpr std::size_t kFirst = 6, kCell = 24, kBeside = (kTerminalWidth - kFirst) / kCell;
  std::string text;
  for (std::size_t first = 0; first < curves.size(); first += kBeside) {
    const auto some = std::span(curves).subspan(first, std::min(kBeside, curves.size() - first));
    text += fmt::format("{:>{}}", unit_of(spec.axis), kFirst);
    for (const auto& curve : some) text += fmt::format("{:>{}}", curve.on.substr(0, kCell - 1), kCell);
    text += "\n";
    for (const double value : spec.values) {
      text += fmt::format("{:>{}}", format_value(value), kFirst);
      for (const auto& curve : some) text += fmt::format("{:>{}}", cell_of(curve, value), kCell);
      text += "\n";
    }
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
  options.title = fmt::format("{}: {}/s over {} (both axes logarithmic)", workload.name,
                              plural(workload.sample), unit_of(spec.axis));
  options.format_x = format_value;
  options.format_y = format_value;
  auto text = draw_chart(series, options) + "\n" + sweep_table(curves, spec);
  for (const auto& curve : curves)
    if (!curve.note.empty()) text += wrap("-: " + curve.note, kTerminalWidth, "   ") + "\n";
  return text;
}

}  // namespace gradwire

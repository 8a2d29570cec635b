#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "report/compare/compare.h"

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
      return fmt::format("{}/s {:.0f} ms {:.0f} %{}", format_value(point.estimate.samples_per_s),
                         point.estimate.step * 1e3, 100 * point.estimate.scaling, point.fits ? "" : "*");
  return "-";
}

void check_any(const std::vector<SweepCurve>& curves, const SweepSpec& spec) {
  std::vector<std::string> reasons;
  for (const auto& curve : curves) {
    if (!curve.points.empty()) return;
    reasons.push_back(why_left_out(curve));
  }
  throw ConfigError(fmt::format("--sweep {}: no machine here can have any of these: {}", name_of(spec.axis),
                                join(reasons, "; ")));
}

// Machines beside each other, as many as fit a line; the others below.
void add_sweep_tables(Report& report, const std::vector<SweepCurve>& curves, const SweepSpec& spec) {
  constexpr std::size_t kBeside = 3;
  for (std::size_t first = 0; first < curves.size(); first += kBeside) {
    const auto some = std::span(curves).subspan(first, std::min(kBeside, curves.size() - first));
    Table table{.rows = {{unit_of(spec.axis)}}, .left = 0};
    for (const auto& curve : some) table.rows[0].push_back(curve.on.substr(0, 23));
    for (const double value : spec.values) {
      table.rows.push_back({format_value(value)});
      for (const auto& curve : some) table.rows.back().push_back(cell_of(curve, value));
    }
    report.add(std::move(table));
  }
}

}  // namespace

std::string why_left_out(const SweepCurve& curve) {
  if (!curve.sizes) return "";
  const auto gpus = counted_gpus(curve.sizes->gpus_per_node);
  if (curve.sizes->several_nodes) return fmt::format("{} grows by whole nodes of {}", curve.on, gpus);
  return fmt::format("{0} has {1}; for more, name a network between several, as in 2*{0}@100gbe", curve.on,
                     gpus);
}

std::string assumption_of(Axis axis) {
  if (axis != Axis::link) return "";
  return fmt::format(
      "GB/s are bus bandwidth on one link instead of a machine's own: {:.0f} us for an all-reduce to begin, "
      "and it hides under backward as over NVLink, so equal GPUs have equal columns. Through host memory a "
      "step takes longer at the same GB/s",
      kLinkLatency * 1e6);
}

Report sweep_report(const std::vector<SweepCurve>& curves, const SweepSpec& spec, const Workload& workload) {
  check_any(curves, spec);
  Report report;
  report.data = sweep_json(curves, spec);
  Curves chart{.title = fmt::format("{}: {}/s over {} (both axes logarithmic)", workload.name,
                                    plural(workload.sample), unit_of(spec.axis)),
               .series = {},
               .format_x = format_value,
               .format_y = format_value,
               .x = unit_of(spec.axis),
               .y = plural(workload.sample) + "/s"};
  for (const auto& curve : curves) {
    chart.series.push_back({curve.on, {}});
    for (const auto& point : curve.points) {
      const double rate = point.estimate.samples_per_s, error = std::min(point.estimate.relative_error, 0.9);
      chart.series.back().points.push_back({point.value, rate});
      chart.series.back().ranges.push_back({rate / (1 + error), rate / (1 - error)});
    }
  }
  report.add(std::move(chart), Gap{});
  add_sweep_tables(report, curves, spec);
  for (const auto& curve : curves)
    if (curve.sizes) report.add(Sentence{"-: " + why_left_out(curve), "", "   "});
  if (std::ranges::any_of(curves, [](const SweepCurve& curve) {
        return !std::ranges::all_of(curve.points, &SweepPoint::fits);
      }))
    report.add(Sentence{"*: does not fit the GPU's memory; times are as if it did", "", "   "});
  if (const auto assumed = assumption_of(spec.axis); !assumed.empty()) report.add(Sentence{assumed + "."});
  return report;
}

}  // namespace gradwire

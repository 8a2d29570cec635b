#include "report/validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"

namespace gradwire {
namespace {

std::vector<std::string> summary_row(const std::string& name, const ErrorSummary& summary) {
  if (summary.count == 0) return {name, "0", "-", "-", "-", "-", "-", "-"};
  return {name,
          fmt::to_string(summary.count),
          format_percent(summary.mean_abs_error),
          format_percent(summary.median_abs_error),
          format_percent(summary.p90_abs_error),
          format_percent(summary.bias),
          format_percent(summary.inside),
          summary.alpha_beta_error > 0 ? format_percent(summary.alpha_beta_error) : "-"};
}

std::set<PointKind> kinds_of(const Validation& validation) {
  std::set<PointKind> kinds;
  for (const ValidationPoint& point : validation.points) kinds.insert(kind_of(point));
  return kinds;
}

Table summaries(const Validation& validation) {
  Table table{{{"", "count", "mean", "median", "p90", "bias", "inside", "plain"}}};
  for (const PointKind kind : kinds_of(validation)) {
    table.rows.push_back(
        summary_row(std::string(name_of(kind)), summarize(counted_of(validation.points, kind))));
    if (kind != PointKind::collective) continue;
    const auto add = [&](const std::string& name, const std::vector<ValidationPoint>& of, bool large) {
      const auto some = points_where(of, [&](const auto& p) {
        return counts(p) && p.kind == RecordKind::collective && is_large(p) == large;
      });
      if (!some.empty()) table.rows.push_back(summary_row(name, summarize(some)));
    };
    add("  from 1 MB", validation.points, true);
    add("  below 1 MB", validation.points, false);
    add("  from 1 MB, by group", validation.by_group, true);
    add("  from 1 MB, own sweep", validation.own_sweep, true);
    add("  below 1 MB, own sweep", validation.own_sweep, false);
  }
  return table;
}

constexpr std::size_t kNameWidth = 44;

// The record and the point; where that is too long the record loses its middle.
std::string name_of_point(const ValidationPoint& point) {
  const auto what = point.kind == RecordKind::collective ? format_bytes(point.bytes) : point.point;
  auto id = point.id;
  const auto room = kNameWidth - std::min(kNameWidth - 8, what.size() + 1);
  if (id.size() > room) id = id.substr(0, room / 2 - 1) + ".." + id.substr(id.size() - (room - room / 2 - 1));
  return (id + " " + what).substr(0, kNameWidth);
}

std::vector<std::string> point_row(const ValidationPoint& point) {
  return {fmt::format("{}{:+.1f} %", counts(point) ? "" : "*", 100 * point.error()), name_of_point(point),
          fmt::format("{:.5g}", point.measured), fmt::format("{:.5g}", point.predicted)};
}

void add_points(Report& report, const Validation& validation, int most_points) {
  Table table{.rows = {{"error", "record and point", "measured", "predicted"}}, .left = 2};
  int found = 0;
  for (const bool good : {true, false})
    for (const ValidationPoint& point :
         worst_first(points_where(validation.points, [&](const auto& p) { return counts(p) == good; })))
      if (++found <= most_points) table.rows.push_back(point_row(point));
  report.add(summaries(validation), Gap{}, std::move(table));
  if (std::ranges::any_of(validation.points, [](const auto& point) { return !counts(point); }))
    report.add(Sentence{"*: of a record of doubtful quality, not counted"});
  if (found > most_points)
    report.add(Sentence{fmt::format("... and {} more: --all shows them", found - most_points)});
}

// Odd records and what is wrong with each.
void add_odd(Report& report, const Validation& validation, int most) {
  int odd = 0;
  for (const auto& [id, doubt] : validation.doubts)
    if (doubt.quality == Quality::odd && ++odd <= most)
      report.add(Sentence{fmt::format("odd: {}: {}", id, to_words(doubt)), "", "  "});
  if (odd > most)
    report.add(Sentence{fmt::format("... and {} more odd records: --all shows them", odd - most)});
}

// Without the dust of changing units: 49999.99999999999 was written 50000.
double as_written(double value) { return std::stod(fmt::format("{:.15g}", value)); }

nlohmann::json point_json(const ValidationPoint& point, const std::map<std::string, Doubt>& doubts) {
  nlohmann::json json = {{"id", point.id},
                         {"kind", name_of(kind_of(point))},
                         {"platform", point.platform},
                         {"quality", name_of(point.quality)},
                         {"point", point.point},
                         {"measured", as_written(point.measured)},
                         {"predicted", point.predicted},
                         {"error", point.error()},
                         {"low", point.low},
                         {"high", point.high},
                         {"assumed", sentences_of(point.assumed)}};
  if (const auto doubt = doubts.find(point.id); doubt != doubts.end())
    json["remark"] = to_words(doubt->second);
  return json;
}

}  // namespace

PointKind kind_of(const ValidationPoint& point) {
  if (point.kind == RecordKind::collective) return PointKind::collective;
  return point.pair ? PointKind::training_pair : PointKind::training;
}

std::vector<ValidationPoint> counted_of(const std::vector<ValidationPoint>& points, PointKind kind) {
  return points_where(points, [&](const ValidationPoint& p) { return counts(p) && kind_of(p) == kind; });
}

namespace {

nlohmann::json validation_json(const Validation& validation) {
  nlohmann::json records = nlohmann::json::array(), summary = nlohmann::json::object();
  for (const ValidationPoint& point : worst_first(validation.points))
    records.push_back(point_json(point, validation.doubts));
  const auto add = [&](const std::string& kind, const std::vector<ValidationPoint>& points) {
    const ErrorSummary of = summarize(points);
    const auto figure = [&](double value) { return of.count > 0 ? nlohmann::json(value) : nlohmann::json(); };
    summary[kind] = {{"count", of.count},
                     {"mean_abs_error", figure(of.mean_abs_error)},
                     {"median_abs_error", figure(of.median_abs_error)},
                     {"p90_abs_error", figure(of.p90_abs_error)},
                     {"bias", figure(of.bias)},
                     {"inside", figure(of.inside)}};
    if (of.alpha_beta_error > 0) summary[kind]["alpha_beta_mean_abs_error"] = of.alpha_beta_error;
  };
  const auto kinds = kinds_of(validation);
  for (const PointKind kind : kinds) add(std::string(name_of(kind)), counted_of(validation.points, kind));
  if (kinds.contains(PointKind::collective)) {
    const auto all = counted_of(validation.points, PointKind::collective);
    add("collective_from_1mb", points_where(all, is_large));
    add("collective_below_1mb", points_where(all, [](const auto& p) { return !is_large(p); }));
  }
  return {{"records", records}, {"summary", summary}, {"skipped", unpredicted_words(validation)}};
}

}  // namespace

Report validation_report(const Validation& validation, int most_points) {
  Report report;
  report.data = validation_json(validation);
  if (validation.points.empty()) {
    report.add(Sentence{"No record could be predicted."});
  } else {
    report.add(
        Sentence{
            "Each point is predicted by a model that never saw its platform. Collectives in us, training in "
            "samples/s. inside: in their 80 % range. plain: what bytes / link rate alone would say. "
            "by group: whole experiments left out. own sweep: the other rows of the sweep given."},
        Gap{});
    add_points(report, validation, most_points);
  }
  add_odd(report, validation, std::max(1, most_points / 5));
  for (const std::string& words : unpredicted_words(validation))
    report.add(Sentence{"not predicted: " + words, "", "  "});
  return report;
}

}  // namespace gradwire

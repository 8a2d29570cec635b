#include "report/validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"

namespace gradwire {
namespace {

double error_of(const ParallelPoint& point) { return point.best() / point.run->measured - 1; }

std::string to_words(Unstated what, const ParallelLayout& taken) {
  switch (what) {
    case Unstated::chunks:
      return fmt::format("chunks a stage are not stated: taken as {}", taken.virtual_stages);
    case Unstated::schedule:
      return "the schedule is not stated: taken as 1f1b";
    case Unstated::micro_batch:
      return "the micro-batch is not stated: taken as 1";
    case Unstated::recomputation:
      break;
  }
  return fmt::format("recomputation is not stated: taken as {}", name_of(taken.recompute));
}

std::vector<std::string> assumptions_of(const ParallelCase& run) {
  auto all = run.machine_notes;
  for (const Unstated what : run.unstated) all.push_back(to_words(what, run.layout));
  return all;
}

nlohmann::json run_json(const ParallelPoint& point) {
  const auto& run = *point.run;
  return {{"id", run.id},
          {"kind", "parallel"},
          {"platform", run.platform},
          {"group", run.group},
          {"quality", name_of(run.quality)},
          {"point", run.point},
          {"measured", run.measured},
          {"predicted", point.best()},
          {"error", error_of(point)},
          {"low", point.low},
          {"high", point.high},
          {"alone", point.alone},
          {"given", point.given ? nlohmann::json(*point.given) : nlohmann::json()},
          {"given_by", point.nearest},
          {"mixture_of_experts", run.moe},
          {"assumed", assumptions_of(run)}};
}

nlohmann::json ratio_json(const ParallelRatio& ratio) {
  return {{"id", ratio.first->id},
          {"other", ratio.second->id},
          {"kind", "parallel_ratio"},
          {"platform", ratio.first->platform},
          {"quality", name_of(std::max(ratio.first->quality, ratio.second->quality))},
          {"point", fmt::format("{} gpus {}", ratio.first->problem.ranks, name_of(ratio.what))},
          {"measured", ratio.measured},
          {"predicted", ratio.predicted},
          {"error", ratio.predicted / ratio.measured - 1}};
}

struct Errors {
  std::vector<double> signed_errors, floors;
  int inside = 0;
};

nlohmann::json summary_json(Errors errors) {
  double sum = 0, bias = 0, floor = 0;
  for (auto& error : errors.signed_errors) bias += error, error = std::abs(error), sum += error;
  for (const double one : errors.floors) floor += one;
  std::sort(errors.signed_errors.begin(), errors.signed_errors.end());
  const auto count = errors.signed_errors.size();
  const auto n = double(count);
  return {{"count", count},
          {"mean_abs_error", sum / n},
          {"median_abs_error", errors.signed_errors[count / 2]},
          {"p90_abs_error", errors.signed_errors[std::min(count - 1, count * 9 / 10)]},
          {"bias", bias / n},
          {"inside", errors.inside / n},
          {"floor_mean_abs_error", floor / n}};
}

void add_data(nlohmann::json& data, const ParallelValidation& result) {
  std::map<std::string, Errors> kinds;
  const auto count = [&](const std::string& kind, double error, double floor, bool inside) {
    auto& errors = kinds[kind];
    errors.signed_errors.push_back(error);
    errors.floors.push_back(std::abs(floor));
    errors.inside += inside;
  };
  for (const auto& point : result.points) {
    data["records"].push_back(run_json(point));
    const auto& run = *point.run;
    if (run.quality != Quality::ok) continue;
    const bool inside = point.low <= run.measured && run.measured <= point.high;
    const double floor = point.given_floor.value_or(point.alone_floor) / run.measured - 1;
    const std::string kind = run.moe ? "_moe" : "_dense";
    count("parallel", error_of(point), floor, inside);
    count("parallel" + kind + "_alone", point.alone / run.measured - 1, point.alone_floor / run.measured - 1,
          inside);
    if (point.given) count("parallel" + kind + "_given", error_of(point), floor, inside);
  }
  for (const auto& ratio : result.ratios) {
    data["records"].push_back(ratio_json(ratio));
    count("parallel_ratio", ratio.predicted / ratio.measured - 1, 1 / ratio.measured - 1, true);
  }
  for (const auto& [kind, errors] : kinds) data["summary"][kind] = summary_json(errors);
  for (const auto& [id, why] : result.asked.left_out)
    data["skipped"].push_back(fmt::format("{}: {}", id, why));
}

Table lines_table(const ParallelValidation& result) {
  Table table{{{"parallel training", "count", "mean", "median", "floor"}}};
  for (const auto& line : summarize(result))
    table.rows.push_back({line.name, fmt::to_string(line.count), format_percent(line.mean),
                          format_percent(line.median), format_percent(line.floor)});
  return table;
}

struct SetCounts {
  int sets = 0, pairs = 0, named = 0;
  double chosen = 0, any = 0;
};

SetCounts& operator+=(SetCounts& sum, const PlanSet& set) {
  ++sum.sets;
  sum.pairs += set.pairs;
  sum.named += set.named;
  sum.chosen += set.chosen;
  sum.any += set.any;
  return sum;
}

std::vector<std::string> set_row(const std::string& name, const SetCounts& counts) {
  return {name,
          fmt::to_string(counts.sets),
          fmt::to_string(counts.pairs),
          counts.pairs > 0 ? format_percent(double(counts.named) / counts.pairs) : "-",
          format_percent(counts.chosen / counts.sets),
          format_percent(counts.any / counts.sets)};
}

void add_sets_of(Report& report, const ParallelValidation& result) {
  if (result.sets.empty()) return;
  SetCounts all;
  std::map<std::string, SetCounts> by_source;
  for (const auto& set : result.sets) {
    all += set;
    by_source[set.plans.front()->group] += set;
  }
  Table table{{{"plan sets", "sets", "pairs", "named", "chosen", "any"}, set_row("all", all)}};
  for (const auto& [source, counts] : by_source) table.rows.push_back(set_row("  " + source, counts));
  report.add(Gap{}, std::move(table),
             Sentence{"named: the faster of two plans over 10 % apart. chosen: how much slower than the best "
                      "measured the "
                      "plan is that comes out best; any: one picked blindly."});
  report.data["plan_sets"] = {{"sets", all.sets},
                              {"pairs", all.pairs},
                              {"named", all.named},
                              {"chosen_slower", all.chosen / all.sets},
                              {"any_slower", all.any / all.sets}};
}

void add_worst(Report& report, const ParallelValidation& result, int most) {
  auto points = result.points;
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    const bool x = a.run->quality == Quality::ok, y = b.run->quality == Quality::ok;
    return x != y ? x : std::abs(error_of(a)) > std::abs(error_of(b));
  });
  Table table{.rows = {{"error", "run", "step, s", "predicted"}}, .left = 2};
  for (std::size_t i = 0; i < points.size() && static_cast<int>(i) < most; ++i)
    table.rows.push_back({fmt::format("{}{:+.1f} %", points[i].run->quality == Quality::ok ? "" : "*",
                                      100 * error_of(points[i])),
                          points[i].run->id.substr(0, 44), fmt::format("{:.5g}", points[i].run->measured),
                          fmt::format("{:.5g}", points[i].best())});
  report.add(Gap{}, std::move(table));
  if (static_cast<int>(points.size()) > most)
    report.add(Sentence{
        fmt::format("... and {} more runs: --all shows them", static_cast<int>(points.size()) - most)});
}

}  // namespace

void add_parallel(Report& report, const ParallelValidation& result, int most_points) {
  if (!report.data.is_object())
    report.data = {{"records", nlohmann::json::array()}, {"summary", nlohmann::json::object()}};
  if (!report.data.contains("skipped")) report.data["skipped"] = nlohmann::json::array();
  add_data(report.data, result);
  if (!report.blocks.empty()) report.add(Gap{});
  report.add(
      Sentence{"Parallel training: each run is predicted with constants fitted without its source (group and "
               "platform). floor: a constant share of the peak; of ratios, that nothing makes a difference."},
      Gap{});
  if (result.points.empty()) {
    report.add(Sentence{"No such run could be predicted."});
  } else {
    report.add(lines_table(result));
    add_sets_of(report, result);
    add_worst(report, result, most_points);
  }
  std::map<std::string, int> reasons;
  for (const auto& [id, why] : result.asked.left_out) ++reasons[why];
  for (const auto& [why, times] : reasons)
    report.add(Sentence{fmt::format("not predicted: {} runs: {}", times, why), "", "  "});
}

}  // namespace gradwire

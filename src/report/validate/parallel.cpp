#include "report/validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "predict/parallel/errors.h"

namespace gradwire {
namespace {

double error_of(const ParallelPoint& point) { return point.best() / point.run->measured - 1; }

std::string to_words(Unstated what, const ParallelLayout& taken) {
  switch (what) {
    case Unstated::chunks:
      return fmt::format("chunks a stage are not stated: taken as {}", taken.virtual_stages);
    case Unstated::schedule:
      return "the schedule is not stated: taken as 1f1b";
    case Unstated::batch:
      return fmt::format("the batch is not stated: taken as {} micro-batches", taken.micro_batches);
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
  std::vector<CountedError> errors, floors;
  double weight = 0;
  std::optional<double> inside;  // of those with a range
  void add(double predicted, double floor, double measured, double counted = 1) {
    errors.push_back({predicted / measured - 1, counted});
    floors.push_back({floor / measured - 1, counted});
    weight += counted;
  }
};

nlohmann::json summary_json(const Errors& of) {
  double bias = 0;
  for (const auto& one : of.errors) bias += one.weight * one.error;
  return {{"count", std::lround(of.weight)},
          {"mean_abs_error", mean_of(of.errors)},
          {"median_abs_error", quantile_of(of.errors, 0.5)},
          {"p90_abs_error", quantile_of(of.errors, 0.9)},
          {"bias", bias / of.weight},
          {"inside", of.inside ? nlohmann::json(*of.inside / of.weight) : nlohmann::json()},
          {"floor_mean_abs_error", mean_of(of.floors)}};
}

using ErrorsByKind = std::map<std::string, Errors>;

void count_point(ErrorsByKind& kinds, const ParallelPoint& point) {
  const auto& run = *point.run;
  const bool inside = point.low <= run.measured && run.measured <= point.high;
  const std::string kind = run.moe ? "parallel_moe" : "parallel_dense";
  const auto count = [&](const std::string& name, Seconds predicted, Seconds floor) {
    kinds[name].add(predicted, floor, run.measured);
    kinds[name].inside = kinds[name].inside.value_or(0) + inside;
  };
  count("parallel", point.best(), point.given_floor.value_or(point.alone_floor));
  count(kind + "_alone", point.alone, point.alone_floor);
  if (!point.given) return;
  count(kind + "_given", *point.given, *point.given_floor);
  auto& any = kinds[kind + "_given_any"];
  for (const auto& other : point.others)
    any.add(other.step, other.floor, run.measured, 1.0 / double(point.others.size()));
}

void count_ratio(ErrorsByKind& kinds, const ParallelRatio& ratio) {
  kinds["parallel_ratio"].add(ratio.predicted, 1, ratio.measured);
  if (is_choice_of_plan(ratio.what)) kinds["parallel_ratio_plans"].add(ratio.predicted, 1, ratio.measured);
}

void add_data(nlohmann::json& data, const ParallelValidation& result) {
  ErrorsByKind kinds;
  for (const auto& point : result.points) {
    data["records"].push_back(run_json(point));
    if (point.run->quality == Quality::ok) count_point(kinds, point);
  }
  for (const auto& ratio : result.ratios) {
    data["records"].push_back(ratio_json(ratio));
    count_ratio(kinds, ratio);
  }
  for (const auto& [kind, errors] : kinds) data["summary"][kind] = summary_json(errors);
  for (const auto& [id, why] : result.asked.left_out)
    data["skipped"].push_back(fmt::format("{}: {}", id, why));
}

std::string to_words(const ErrorPart& part) {
  constexpr std::array<std::string_view, 3> kGiven = {"any other", "nearest other", "nothing"};
  switch (part.of) {
    case ErrorsOf::step:
      return fmt::format("step, {} given, {}", kGiven[static_cast<std::size_t>(part.given)],
                         part.moe ? "mixtures of experts" : "dense");
    case ErrorsOf::plan_ratio:
      return "ratio of layout, gpus or link";
    case ErrorsOf::ratio:
      return part.name.empty() ? "ratio" : "ratio of " + part.name;
    case ErrorsOf::strategy:
      return "by strategy: " + part.name;
    case ErrorsOf::source:
      break;
  }
  return "by source: " + part.name;
}

Table lines_table(const ParallelValidation& result) {
  Table table{{{"parallel training", "count", "mean", "median", "floor"}}};
  for (const auto& line : summarize(result))
    table.rows.push_back({to_words(line.part), fmt::to_string(line.count), format_percent(line.mean),
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

nlohmann::json sets_json(const SetCounts& counts) {
  return {{"sets", counts.sets},
          {"pairs", counts.pairs},
          {"named", counts.named},
          {"chosen_slower", counts.chosen / counts.sets},
          {"any_slower", counts.any / counts.sets}};
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
  report.data["plan_sets"] = sets_json(all);
  for (const auto& [source, counts] : by_source)
    report.data["plan_sets"]["sources"][source] = sets_json(counts);
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
  if (result.points.empty() && result.ratios.empty())
    report.add(Sentence{"No such run could be predicted."});
  else
    report.add(lines_table(result));
  if (!result.points.empty()) {
    add_sets_of(report, result);
    add_worst(report, result, most_points);
  }
  std::map<std::string, int> reasons;
  for (const auto& [id, why] : result.asked.left_out) ++reasons[why];
  for (const auto& [why, times] : reasons)
    report.add(Sentence{fmt::format("not predicted: {} runs: {}", times, why), "", "  "});
}

}  // namespace gradwire

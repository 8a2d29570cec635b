// What programs get of predictions of parallel training.
#include <gtest/gtest.h>

#include <tuple>

#include "report/validate/validate.h"

namespace gradwire {
namespace {

ParallelCase run_of(const char* id, const char* group) {
  ParallelCase run;
  run.id = id, run.group = group;
  run.measured = 1;
  return run;
}

// Two runs, each with the other to be given: 10 % off and 30 % off.
ParallelValidation two_runs() {
  ParallelValidation result;
  result.asked.cases = {run_of("a", "x"), run_of("b", "x")};
  const auto *a = &result.asked.cases[0], *b = &result.asked.cases[1];
  for (const auto& [run, other, step] : {std::tuple{a, b, 1.1}, std::tuple{b, a, 0.7}}) {
    ParallelPoint point;
    point.run = run, point.alone = 1.5, point.alone_floor = 2;
    point.given = step, point.given_floor = 1.6;
    point.others = {{other, step, 1.6}};
    result.points.push_back(point);
  }
  result.ratios = {{a, b, Differs::layout, 1.25, 1.0}, {a, b, Differs::precision, 2, 1}};
  result.sets = {{.plans = {a, b}, .pairs = 4, .named = 3, .chosen = 0.1, .any = 0.2}};
  return result;
}

TEST(ParallelReport, has_what_any_other_run_and_what_plans_come_to) {
  Report report;
  add_parallel(report, two_runs(), 10);
  const auto& summary = report.data["summary"];
  EXPECT_EQ(summary["parallel_dense_given_any"]["count"], 2);
  EXPECT_NEAR(summary["parallel_dense_given_any"]["mean_abs_error"].get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(summary["parallel_dense_given_any"]["floor_mean_abs_error"].get<double>(), 0.6, 1e-12);
  EXPECT_EQ(summary["parallel_ratio"]["count"], 2);
  EXPECT_EQ(summary["parallel_ratio_plans"]["count"], 1);
  EXPECT_NEAR(summary["parallel_ratio_plans"]["mean_abs_error"].get<double>(), 0.2, 1e-12);
  EXPECT_TRUE(summary["parallel_ratio"]["inside"].is_null()) << "a ratio has no range";
}

TEST(ParallelReport, counts_pairs_of_plans_by_source) {
  auto result = two_runs();
  auto other = result.sets[0];
  auto elsewhere = run_of("c", "y");
  other.plans = {&elsewhere, &elsewhere};
  other.pairs = 2, other.named = 2;
  result.sets.push_back(other);
  Report report;
  add_parallel(report, result, 10);
  const auto& sets = report.data["plan_sets"];
  EXPECT_EQ(sets["pairs"], 6);
  EXPECT_EQ(sets["sources"]["x"]["named"], 3);
  EXPECT_EQ(sets["sources"]["y"]["pairs"], 2);
}

}  // namespace
}  // namespace gradwire

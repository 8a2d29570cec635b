// Published runs of parallel training against their predictions: the figures that docs/parallel.md states, and that the runs
// we carry are the shared ones.
#include "predict/parallel/validation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "predict/parallel/errors.h"
#include "predict/records/read.h"

namespace gradwire {
namespace {

// A tenth of a percent beyond what the documents round to.
constexpr double kRounding = 0.0015;

const ParallelValidation& validated() {
  static const auto result = validate_parallel(built_in_parallel_records(), built_in_parallel_records());
  return result;
}

ErrorLine line_of(const ErrorPart& part) {
  static const auto lines = summarize(validated());
  const auto found = std::ranges::find(lines, part, &ErrorLine::part);
  if (found == lines.end()) throw ConfigError("the validation has no such line");
  return *found;
}

struct Stated {
  int count;
  double mean, median, floor;
};

// No worse than it is said, nor so much better that the documents are stale.
void expect_as_stated(const char* what, const ErrorPart& part, const Stated& stated) {
  const auto line = line_of(part);
  fmt::print("{}: {} of {:.2f} % mean, {:.2f} % median, floor {:.2f} %\n", what, line.count, 100 * line.mean,
             100 * line.median, 100 * line.floor);
  EXPECT_EQ(line.count, stated.count) << what;
  EXPECT_NEAR(line.mean, stated.mean, kRounding) << what;
  EXPECT_NEAR(line.median, stated.median, kRounding) << what;
  EXPECT_NEAR(line.floor, stated.floor, kRounding) << what;
}

ErrorPart ratio_of(const char* name) { return {.of = ErrorsOf::ratio, .name = name}; }

TEST(ParallelAccuracy, of_steps_of_sources_it_never_saw_is_what_the_documents_say) {
  expect_as_stated("nothing given", {}, {348, 0.118, 0.087, 0.239});
  expect_as_stated("any other given", {.given = GivenRun::any_other}, {336, 0.072, 0.045, 0.222});
  expect_as_stated("nearest given", {.given = GivenRun::nearest}, {336, 0.051, 0.029, 0.123});
}

TEST(ParallelAccuracy, of_ratios_is_what_the_documents_say) {
  expect_as_stated("layout, gpus or link", {.of = ErrorsOf::plan_ratio}, {355, 0.051, 0.028, 0.115});
  expect_as_stated("all", ratio_of(""), {461, 0.052, 0.029, 0.125});
  expect_as_stated("gpus", ratio_of("gpus"), {273, 0.038, 0.024, 0.081});
  expect_as_stated("layout", ratio_of("layout"), {82, 0.096, 0.047, 0.226});
  expect_as_stated("precision", ratio_of("precision"), {31, 0.114, 0.085, 0.292});
  expect_as_stated("schedule", ratio_of("schedule"), {73, 0.028, 0.024, 0.103});
}

TEST(ParallelAccuracy, of_which_plan_is_faster_is_what_the_documents_say) {
  int pairs = 0, named = 0;
  double chosen = 0, any = 0;
  for (const auto& set : validated().sets) {
    pairs += set.pairs, named += set.named;
    chosen += set.chosen / double(validated().sets.size());
    any += set.any / double(validated().sets.size());
  }
  fmt::print("{} of {} pairs named; chosen {:.2f} % slower, any {:.1f} %\n", named, pairs, 100 * chosen,
             100 * any);
  EXPECT_EQ(pairs, 133);
  EXPECT_GE(named, 115);
  EXPECT_NEAR(chosen, 0.016, kRounding);
  EXPECT_NEAR(any, 0.16, 0.005);
}

TEST(ParallelAccuracy, eight_of_ten_runs_and_hardly_more_lie_in_their_range) {
  double inside = 0, all = 0;
  for (const auto& point : validated().points) {
    if (point.run->quality != Quality::ok) continue;
    inside += point.low <= point.run->measured && point.run->measured <= point.high;
    ++all;
  }
  fmt::print("{:.1f} % in range\n", 100 * inside / all);
  EXPECT_NEAR(inside / all, 0.86, 0.01);
}

TEST(ParallelAccuracy, leaves_no_record_out_without_a_reason) {
  const auto records = built_in_parallel_records();
  std::set<std::string> told;
  for (const auto& point : validated().points) told.insert(point.run->id);
  for (const auto& [id, why] : validated().asked.left_out) {
    EXPECT_FALSE(why.empty()) << id;
    EXPECT_TRUE(told.insert(id).second) << id << " is predicted and left out";
  }
  EXPECT_EQ(told.size(), records.size());
}

TEST(ParallelAccuracy, the_runs_we_carry_have_the_figures_of_the_shared_ones_where_those_are_there) {
  const char* shared = std::getenv("GRADWIRE_SHARED");
  const auto file = std::filesystem::path(shared ? shared : GRADWIRE_SOURCE_DIR "/../shared") /
                    "groundtruth/parallel.jsonl";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  fmt::print("compared with {}\n", file.string());
  std::vector<std::string> skipped;
  const auto theirs = read_records(file, &skipped), ours = built_in_parallel_records();
  for (const auto& one : skipped) ADD_FAILURE() << "not read: " << one;
  ASSERT_EQ(theirs.size(), ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(theirs[i].id, ours[i].id);
    EXPECT_EQ(theirs[i].quality, ours[i].quality) << ours[i].id;
    EXPECT_EQ(theirs[i].parallel->value, ours[i].parallel->value) << ours[i].id;
    EXPECT_EQ(theirs[i].parallel->metric, ours[i].parallel->metric) << ours[i].id;
    EXPECT_EQ(theirs[i].parallel->step, ours[i].parallel->step) << ours[i].id;
    EXPECT_EQ(theirs[i].node, ours[i].node) << ours[i].id;
  }
}

}  // namespace
}  // namespace gradwire

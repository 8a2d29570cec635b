#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

std::string said(int rank) {
  return "initializing ddp: GLOBAL_RANK: " + std::to_string(rank) + ", MEMBER: " + std::to_string(rank + 1) +
         "/4\n";
}

TEST(Members, that_are_one_rank_twice_are_found) {
  const auto same = diagnosis_of_log(said(1) + said(1) + said(0) + said(0));
  ASSERT_EQ(first_rule(same), "R23");
  EXPECT_TRUE(says(same.findings[0].what, "2 of 4 ranks are there")) << same.findings[0].what;
  EXPECT_EQ(same.findings[0].evidence.find("run.log:2: "), 0u);
}

TEST(Members, who_say_it_again_at_a_second_start_are_well) {
  const std::string all = said(3) + said(1) + said(0) + said(2);
  const auto twice = diagnosis_of_log(all + all);
  EXPECT_TRUE(twice.findings.empty());
  EXPECT_TRUE(twice.hints.empty());
}

TEST(Members, that_are_missing_are_a_hint_until_something_shows_that_they_came) {
  const auto alone = diagnosis_of_log(said(0));
  EXPECT_TRUE(alone.findings.empty());
  ASSERT_EQ(alone.hints.size(), 1u);
  EXPECT_TRUE(says(alone.hints[0].what, "1 of 4 ranks")) << alone.hints[0].what;
  EXPECT_TRUE(diagnosis_of_log(said(0) + "All distributed processes registered. Starting with 4 processes\n")
                  .hints.empty());
  EXPECT_TRUE(diagnosis_of_logs({said(0) + said(1), said(2) + said(3)}).hints.empty());
}

}  // namespace
}  // namespace gradwire

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

TEST(Members, that_are_missing_are_found_where_rank_0_says_no_more) {
  const auto alone = diagnosis_of_log(said(0));
  ASSERT_EQ(first_rule(alone), "R36");
  EXPECT_TRUE(says(alone.findings[0].what, "1 of 4 ranks")) << alone.findings[0].what;
}

TEST(Members, that_are_missing_are_a_hint_until_something_shows_that_they_came) {
  const auto other = diagnosis_of_log(said(1));  // rank 0 alone says that all are there
  EXPECT_TRUE(other.findings.empty());
  EXPECT_EQ(other.hints.size(), 1u);
  EXPECT_TRUE(diagnosis_of_log(said(0) + std::string(9, '\n')).findings.empty());
  EXPECT_TRUE(diagnosis_of_log(said(0) + "All distributed processes registered. Starting with 4 processes\n")
                  .hints.empty());
  EXPECT_TRUE(diagnosis_of_logs({said(0) + said(1), said(2) + said(3)}).hints.empty());
}

std::string waiting(const char* counts) {
  return std::string(
             "INFO:root:Waiting in store based barrier to initialize process group for rank: 0, key: k:1 (") +
         counts + ", timeout=0:30:00)\n";
}

TEST(Members, who_are_more_than_there_are_ranks_are_those_of_an_earlier_try) {
  const auto more = diagnosis_of_log(waiting("world_size=4, worker_count=16"));
  ASSERT_EQ(first_rule(more), "R23");
  EXPECT_TRUE(says(more.findings[0].what, "16 processes have come where 4 ranks")) << more.findings[0].what;
}

TEST(Members, who_are_fewer_are_missed_where_the_log_ends_so) {
  EXPECT_EQ(first_rule(diagnosis_of_log(waiting("world_size=8, worker_count=7"))), "R36");
  EXPECT_EQ(first_rule(diagnosis_of_log(waiting("world_size=8, num_workers_joined=7"))), "R36");
  const std::string went_on(200, '\n');
  EXPECT_EQ(first_rule(diagnosis_of_log(waiting("world_size=8, worker_count=7") + went_on)), "");
  EXPECT_EQ(first_rule(diagnosis_of_log(waiting("world_size=8, worker_count=8"))), "");
}

}  // namespace
}  // namespace gradwire

#include "watch/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

WatchPlan plan_of(const Environment& users, std::string_view nccl_settings = {}) {
  return plan_watch(users, "/seen", "/seen/hook", {}, nccl_settings);
}

TEST(WatchPlan, asks_python_nccl_and_gradwire_to_leave_what_explains_the_run) {
  const auto plan = plan_of({{"HOME", "/home/me"}});
  EXPECT_EQ(plan.environment.at("PYTHONPATH"), "/seen/hook");
  EXPECT_EQ(plan.environment.at("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(plan.environment.at("NCCL_DEBUG_FILE"), "/seen/nccl.%h.%p.log");
  EXPECT_EQ(plan.environment.at("GRADWIRE_TRACE"), "/seen/gradwire_train.json");
  EXPECT_EQ(plan.environment.at("HOME"), "/home/me");
  EXPECT_THAT(plan.left_alone, IsEmpty());
}

TEST(WatchPlan, keeps_the_places_where_python_looks_for_modules) {
  EXPECT_EQ(plan_of({{"PYTHONPATH", "/mine:/yours"}}).environment.at("PYTHONPATH"),
            "/seen/hook:/mine:/yours");
  EXPECT_EQ(plan_of({{"PYTHONPATH", ""}}).environment.at("PYTHONPATH"), "/seen/hook");
}

TEST(WatchPlan, never_replaces_what_the_user_told_nccl_and_says_so) {
  for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"}) {
    const Environment users = {{name, "WARN"}};
    const auto plan = plan_of(users);
    EXPECT_EQ(plan.environment.at(name), "WARN");
    for (const char* other : {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"})
      EXPECT_EQ(plan.environment.count(other), users.count(other)) << other;
    EXPECT_THAT(plan.left_alone, ElementsAre(HasSubstr(std::string(name) + "=WARN is yours")));
  }
}

TEST(WatchPlan, heeds_files_of_settings) {
  const auto plan = plan_of({}, "NCCL_DEBUG=WARN\n");
  EXPECT_EQ(plan.environment.count("NCCL_DEBUG"), 0u);
  EXPECT_THAT(plan.left_alone, ElementsAre(HasSubstr("nccl.conf")));
}

TEST(WatchPlan, tells_the_hook_which_steps_to_trace) {
  const auto plan = plan_watch({}, "/seen", "/hook", {.start = 100, .steps = 7});
  EXPECT_EQ(plan.environment.at("GRADWIRE_WATCH_START"), "100");
  EXPECT_EQ(plan.environment.at("GRADWIRE_WATCH_STEPS"), "7");
  EXPECT_EQ(plan_of({}).environment.at("GRADWIRE_WATCH_START"), "-1");
}

TEST(TellingVariables, are_those_that_decide_how_a_run_communicates_and_no_secrets) {
  const Environment users = {
      {"NCCL_P2P_DISABLE", "1"}, {"WANDB_API_KEY", "secret"}, {"OMP_NUM_THREADS", "4"}};
  EXPECT_EQ(telling_variables(users), "NCCL_P2P_DISABLE=1\nOMP_NUM_THREADS=4\n");
}

}  // namespace
}  // namespace gradwire

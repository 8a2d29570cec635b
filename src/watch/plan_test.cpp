#include "watch/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

WatchPlan plan_of(const Environment& users, std::string_view nccl_settings = {}) {
  WatchPlaces places;
  places.folder = "/seen";
  places.hook = "/seen/hook";
  places.nccl_profiler = "/lib/profiler.so";
  places.nccl_settings = nccl_settings;
  return plan_watch(users, places, {});
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

TEST(WatchPlan, asks_nccl_to_record_its_calls_in_the_folder) {
  const auto plan = plan_of({});
  EXPECT_EQ(plan.environment.at("NCCL_PROFILER_PLUGIN"), "/lib/profiler.so");
  EXPECT_EQ(plan.environment.at("GRADWIRE_NCCL_DIR"), "/seen");
}

TEST(WatchPlan, asks_for_no_profiler_where_none_was_built) {
  EXPECT_EQ(plan_watch({}, {}, {}).environment.count("NCCL_PROFILER_PLUGIN"), 0u);
}

TEST(WatchPlan, never_displaces_a_profiler_of_nccl_and_says_so) {
  const auto named = plan_of({{"NCCL_PROFILER_PLUGIN", "mine"}});
  EXPECT_EQ(named.environment.at("NCCL_PROFILER_PLUGIN"), "mine");
  EXPECT_THAT(named.left_alone, ElementsAre(HasSubstr("NCCL_PROFILER_PLUGIN=mine is yours")));
  const auto settled = plan_of({}, "NCCL_PROFILER_PLUGIN=mine\n");
  EXPECT_EQ(settled.environment.count("NCCL_PROFILER_PLUGIN"), 0u);
  EXPECT_THAT(settled.left_alone, ElementsAre(HasSubstr("your nccl.conf names a profiler")));
  WatchPlaces places;
  places.nccl_profiler = "/lib/profiler.so";
  places.users_profiler = "/opt/libnccl-profiler.so";
  const auto found = plan_watch({}, places, {});
  EXPECT_EQ(found.environment.count("NCCL_PROFILER_PLUGIN"), 0u);
  EXPECT_THAT(found.left_alone, ElementsAre(HasSubstr("/opt/libnccl-profiler.so is NCCL's profiler here")));
}

TEST(WatchPlan, tells_the_hook_which_steps_to_trace) {
  const auto plan = plan_watch({}, {}, {.start = 100, .steps = 7});
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

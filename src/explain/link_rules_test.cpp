// What the rates of collectives say of links.
#include <gtest/gtest.h>

#include "explain/log_fixture.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

// Two ranks whose step is 20 ms of computing and one all-reduce of 400 kB that takes so long, milliseconds; rank 1 comes
// to it 3 ms late.
std::vector<Profile> two_ranks(double milliseconds, int elements) {
  std::vector<Profile> profiles;
  for (int rank = 0; rank < 2; ++rank) {
    SampleTrace trace;
    const double late = rank * 3000.0, all = 23000 + milliseconds * 1000;
    trace.distributed(rank, 2).gpus(2);
    for (int step = 0; step < 3; ++step) {
      const double begin = step * (all + 100) + 100;
      trace.step(step, begin, all).kernel(begin + 10, 19990 + late);
      trace.all_reduce(begin + 20000 + late, milliseconds * 1000 + 3000 - late, elements);
    }
    profiles.push_back(trace.profile("rank" + std::to_string(rank) + ".json"));
  }
  return profiles;
}

CaseFile case_of(double milliseconds, int elements = 100000) {
  Gathered files;
  files.profiles = two_ranks(milliseconds, elements);
  return make_case(std::move(files), "");
}

TEST(DoctorOnLinks, finds_one_that_is_slower_than_any_network_and_prices_what_it_takes) {
  const auto diagnosis = diagnose(case_of(64));
  ASSERT_EQ(first_rule(diagnosis), "R36");
  // 400 kB in 64 ms are 0.050 Gbit/s; Ethernet of 1 Gbit/s would take 3.4 ms. Waiting for rank 1 is not the link's.
  EXPECT_NE(diagnosis.findings[0].what.find("0.050 Gbit/s"), std::string::npos) << diagnosis.findings[0].what;
  EXPECT_NEAR(*diagnosis.findings[0].cost_ms, 64 - 3.4, 0.1);
}

TEST(DoctorOnLinks, leaves_calls_alone_that_may_be_slow_for_their_latency) {
  for (const Finding& finding : diagnose(case_of(8)).findings) EXPECT_NE(finding.rule, "R36");
}

TEST(DoctorOnLinks, does_not_blame_the_link_for_a_few_bytes_that_something_else_held_up) {
  for (const Finding& finding : diagnose(case_of(300, 300)).findings) EXPECT_NE(finding.rule, "R36");
}

TEST(DoctorOnLinks, does_not_blame_the_link_of_ranks_that_wait_for_a_core) {
  CaseFile given = case_of(64);
  WatchNotes notes;
  notes.waited_ms = 70;
  notes.profiled_ms = 90;
  given.files.notes = {notes};
  for (const Finding& finding : diagnose(given).findings) EXPECT_NE(finding.rule, "R36");
}

}  // namespace
}  // namespace gradwire

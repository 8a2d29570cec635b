#include "report/page/run_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kKernels = 100;

// Two steps of kernels half a microsecond apart, and an all-reduce beside them.
Profile rank_of_two(int rank, double clock_us) {
  SampleTrace trace;
  trace.distributed(rank, 2).gpus(2);
  for (int step = 0; step < 2; ++step) {
    const double begin = clock_us + 2000 * step;
    trace.step(step, begin, 2000);
    for (int i = 0; i < kKernels; ++i) trace.kernel(begin + 100 + 10 * i, 9.5);
    trace.all_reduce(begin + 500, 1000);
  }
  return trace.profile();
}

std::size_t count_of(const DrawnTimeline& timeline, const char* kind) {
  const auto found = std::find(timeline.kinds.begin(), timeline.kinds.end(), kind) - timeline.kinds.begin();
  return static_cast<std::size_t>(std::count_if(timeline.spans.begin(), timeline.spans.end(),
                                                [&](const DrawnSpan& span) { return span.kind == found; }));
}

TEST(RunTimeline, has_a_lane_for_every_stream_of_every_rank) {
  const auto run = run_timelines({rank_of_two(0, 1000), rank_of_two(1, 1000)}, {});
  ASSERT_EQ(run.timelines.size(), 1u);
  const DrawnTimeline& timeline = run.timelines[0];
  EXPECT_THAT(timeline.lanes,
              ElementsAre(DrawnTimeline::Lane{0, "stream 7", 7}, DrawnTimeline::Lane{0, "stream 20", 20},
                          DrawnTimeline::Lane{1, "stream 7", 7}, DrawnTimeline::Lane{1, "stream 20", 20}));
  EXPECT_EQ(count_of(timeline, "communication"), 4u);
  EXPECT_EQ(timeline.spans.size(), 2 * 2 * (kKernels + 1u));
  EXPECT_EQ(timeline.world, 2);
  EXPECT_THAT(run.notes, IsEmpty());
}

TEST(RunTimeline, joins_kernels_where_there_are_too_many_and_says_so) {
  const auto run = run_timelines({rank_of_two(0, 1000), rank_of_two(1, 1000)}, {}, 50);
  EXPECT_LE(run.timelines[0].spans.size(), 50u);
  EXPECT_EQ(count_of(run.timelines[0], "communication"), 4u);
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("less than 1 us apart as one: there are 404 spans")));
}

TEST(RunTimeline, leaves_steps_out_where_that_is_not_enough_and_says_so) {
  const auto run = run_timelines({rank_of_two(0, 1000), rank_of_two(1, 1000)}, {}, 6);
  EXPECT_LE(run.timelines[0].spans.size(), 6u);
  EXPECT_THAT(run.notes.back(), HasSubstr("first 1 of 2 steps"));
}

TEST(RunTimeline, puts_ranks_with_other_clocks_beside_each_other) {
  const auto run = run_timelines({rank_of_two(0, 1000), rank_of_two(1, 5'000'000)}, {});
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("The clock of rank 1")));
  for (const DrawnSpan& span : run.timelines[0].spans) EXPECT_LT(span.begin_ns, 4e6);
}

}  // namespace
}  // namespace gradwire

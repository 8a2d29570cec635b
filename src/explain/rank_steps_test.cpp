#include "explain/rank_steps.h"

#include <gtest/gtest.h>

#include "explain/analysis.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

// A step of 10 ms: a kernel of 4, then nothing for 5 while the next kernel of 1 ms waits; launched so long before it
// begins, microseconds.
SampleTrace gap_before_a_kernel(double before) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2).step(0, 0, 10000).kernel(10, 3990);
  trace.host("cpu_op", "aten::mm", 0, 9900);
  trace.host("cpu_op", "record_param_comms", 200, 20, 2);
  trace.gpu("kernel", "void adam<float>(int)", 9000, 990, 7, "", before);
  return trace;
}

Bottleneck bottleneck_of(const SampleTrace& trace) {
  return analyze_profiles({trace.profile()}).verdict.bottleneck;
}

TEST(RankSteps, take_idle_with_work_queued_for_collectives_whose_kernels_are_missing) {
  EXPECT_EQ(bottleneck_of(gap_before_a_kernel(8000)), Bottleneck::communication_intra);
  EXPECT_EQ(bottleneck_of(gap_before_a_kernel(10)), Bottleneck::launch);  // nothing waited there
  const auto analysis = analyze_profiles({gap_before_a_kernel(8000).profile()});
  EXPECT_NEAR(analysis.ranks[0].summary.mean.idle_queued, 5e-3, 1e-4);
  EXPECT_EQ(analysis.notes.size(), 2u);  // that, and that one rank of two is here
}

TEST(RankSteps, leave_idle_alone_where_kernels_of_collectives_are_there) {
  EXPECT_EQ(bottleneck_of(gap_before_a_kernel(8000).all_reduce(4000, 10)), Bottleneck::launch);
}

}  // namespace
}  // namespace gradwire

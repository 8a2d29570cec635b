// Every sample is small enough to be counted by hand; the counts stand in the comments.
#include "explain/analysis.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

TEST(GpuTotals, count_no_moment_twice) {
  // Computing 0-100 and 50-150 on two streams is 150; NCCL 120-200 is 80, 30 of it hidden; a copy 195-230.
  const Profile profile = SampleTrace()
                              .gpu("kernel", "a", 0, 100, 7)
                              .gpu("kernel", "b", 50, 100, 8)
                              .all_reduce(120, 80)
                              .gpu("gpu_memcpy", "Memcpy HtoD", 195, 35)
                              .kernel(300, 10)
                              .profile();
  const GpuTotals totals = gpu_totals(profile);
  EXPECT_EQ(totals.span, 310'000);
  EXPECT_EQ(totals.compute, 160'000);
  EXPECT_EQ(totals.comm, 80'000);
  EXPECT_EQ(totals.overlap, 30'000);
  EXPECT_EQ(totals.copies, 35'000);
  EXPECT_EQ(totals.idle, 70'000);
}

TEST(Analysis, tells_waiting_from_transfer_where_two_ranks_are_there) {
  // Rank 1 computes 1.5 ms longer and arrives so much later: its kernel is the transfer, 1.5 ms. Clocks differ
  // by an hour.
  const auto analysis = analyze_profiles({one_step(0).profile(), one_step(1, 3.6e9, 1500).profile()});
  ASSERT_EQ(analysis.collectives.size(), 1u);
  const CollectiveRow& row = analysis.collectives[0];
  EXPECT_TRUE(row.matched);
  EXPECT_EQ(row.bytes, Bytes{4} << 20);
  EXPECT_NEAR(row.transfer, 1.5e-3, 1e-9);
  EXPECT_NEAR(row.wait, 0.75e-3, 1e-9);
  EXPECT_NEAR(row.busbw_gbps, (4 << 20) / 1.5e-3 / 1e9, 1e-6);  // 2 (n-1) / n is 1 for two ranks
  EXPECT_EQ(analysis.ranks[1].summary.last_share, 1);
}

TEST(Analysis, says_what_one_rank_of_many_can_not_tell) {
  const auto analysis = analyze_profiles({one_step(0).profile()});
  EXPECT_FALSE(analysis.collectives.at(0).matched);
  ASSERT_FALSE(analysis.notes.empty());
  EXPECT_NE(analysis.notes[0].find("1 of 2 ranks"), std::string::npos);
}

TEST(Analysis, takes_the_first_of_several_traces_of_a_rank) {
  const auto analysis = analyze_profiles(
      {one_step(0, 1e6).profile(), one_step(0).profile("first.json"), one_step(1, 500).profile()});
  ASSERT_EQ(analysis.ranks.size(), 2u);
  EXPECT_EQ(analysis.ranks[0].file, "first.json");
  EXPECT_EQ(analysis.ranks[1].summary.rank, 1);
  EXPECT_NE(analysis.notes.at(0).find("1 traces are later"), std::string::npos);
}

SampleTrace without_rank(double begin, const char* host = "") {
  SampleTrace trace;
  if (*host != 0) trace.host_name(host);
  trace.step(0, begin, 1000).kernel(begin + 10, 400).all_reduce(begin + 410, 580);
  return trace;
}

TEST(Analysis, takes_traces_without_a_rank_that_follow_one_another_for_windows_of_one) {
  const auto analysis =
      analyze_profiles({without_rank(5e6).profile(), without_rank(0).profile("first.json")});
  ASSERT_EQ(analysis.ranks.size(), 1u);
  EXPECT_EQ(analysis.ranks[0].file, "first.json");
  const auto ranks_of = [](const char* one, const char* other) {
    return analyze_profiles({without_rank(0).profile(one), without_rank(100).profile(other)}).ranks.size();
  };
  EXPECT_EQ(ranks_of("a.json", "b.json"), 2u);  // at the same time
  EXPECT_EQ(ranks_of("gpu7_23.1700000000.pt.trace.json", "gpu7_23.1700000009.pt.trace.json"), 1u);
  EXPECT_EQ(ranks_of("gpu7_23.1700000000.pt.trace.json", "gpu7_24.1700000009.pt.trace.json"), 2u);
  const auto elsewhere = analyze_profiles({without_rank(0, "a").profile(), without_rank(5e6, "b").profile()});
  EXPECT_EQ(elsewhere.ranks.size(), 2u);
}

TEST(Analysis, keeps_groups_without_a_name_apart) {
  // Pairs {0, 1} and {2, 3}: the second pair's all-reduces take four times as long.
  std::vector<Profile> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    SampleTrace trace;
    trace.distributed(rank, 4).gpus(4).step(0, 0, 10000).kernel(10, 4000);
    trace.gpu("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 4010, rank < 2 ? 1000 : 4000, 20,
              fmt::format(R"("Collective name": "allreduce", "In msg nelems": 1000000, "Group size": 2, )"
                          R"("dtype": "Float", "Process Group Ranks": "[{}, {}]")",
                          rank / 2 * 2, rank / 2 * 2 + 1));
    ranks.push_back(trace.profile());
  }
  const auto rows = analyze_profiles(ranks).collectives;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].group, "[2, 3]");
  EXPECT_NEAR(rows[0].busbw_gbps, 1, 1e-9);
  EXPECT_NEAR(rows[1].busbw_gbps, 4, 1e-9);
  EXPECT_EQ(rows[0].wait, 0);  // nobody waited for the other pair
}

TEST(Analysis, numbers_ranks_that_do_not_say_theirs) {
  const auto analysis =
      analyze_profiles({SampleTrace().kernel(0, 1).profile(), SampleTrace().kernel(0, 1).profile()});
  EXPECT_EQ(analysis.ranks[0].summary.rank, 0);
  EXPECT_EQ(analysis.ranks[1].summary.rank, 1);
  EXPECT_THROW(analyze_profiles({}), ConfigError);
}

TEST(Analysis, reads_steps_of_a_run_without_gpus) {
  // The loop's thread: input 0-1, forward 1-3, backward 3-6, then 2 ms of gloo that nothing hides.
  SampleTrace trace;
  trace.distributed(0, 2).step(0, 0, 10000);
  trace.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 1000);
  trace.host("cpu_op", "aten::stack", 100, 800);  // makes the batch: input, not computing
  trace.host("cpu_op", "aten::addmm", 1000, 2000);
  trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 3000, 3000);
  trace.host("user_annotation", "gloo:all_reduce", 5000, 3000, 9);
  trace.host("user_annotation", "Optimizer.step#SGD.step", 8000, 1000);
  const auto analysis = analyze_profiles({trace.profile()});
  const StepShares& shares = analysis.ranks[0].summary.mean;
  EXPECT_FALSE(analysis.ranks[0].summary.on_gpu);
  EXPECT_NEAR(shares.parts.data, 1e-3, 1e-9);
  EXPECT_NEAR(shares.parts.forward, 2e-3, 1e-9);
  EXPECT_NEAR(shares.parts.backward, 3e-3, 1e-9);
  EXPECT_NEAR(shares.parts.comm_overlapped, 1e-3, 1e-9);
  EXPECT_NEAR(shares.parts.comm_exposed, 2e-3, 1e-9);
  EXPECT_NEAR(shares.parts.optimizer, 1e-3, 1e-9);
  EXPECT_NEAR(shares.parts.other, 1e-3, 1e-9);
  EXPECT_EQ(analysis.collectives.at(0).collective.kind, Collective::all_reduce);
}

TEST(Analysis, takes_a_run_that_gradwire_recorded) {
  Timeline timeline;
  timeline.source = "test";
  for (int step = 0; step < 3; ++step) {
    const double begin = step * 0.010;
    timeline.spans.push_back({.step = step, .kind = SpanKind::forward, .begin = begin, .end = begin + 0.004});
    timeline.spans.push_back(
        {.step = step, .kind = SpanKind::backward, .begin = begin + 0.004, .end = begin + 0.008});
    timeline.spans.push_back({.step = step,
                              .kind = SpanKind::bucket,
                              .begin = begin + 0.007,
                              .end = begin + 0.010,
                              .bucket = 0,
                              .bytes = 1000});
  }
  const auto analysis = analyze_timeline(timeline, "t.json");
  EXPECT_EQ(analysis.ranks.at(0).steps, 2);
  EXPECT_NEAR(analysis.ranks[0].summary.mean.parts.comm_exposed, 0.002, 1e-9);
  EXPECT_NEAR(analysis.collectives.at(0).exposed, 0.002, 1e-9);
}

TEST(ToTimeline, keeps_computing_and_buckets_as_they_were) {
  SampleTrace trace = one_step();
  const Timeline timeline = timeline_of(trace.profile());
  EXPECT_EQ(timeline.ranks, 2);
  check_timeline(timeline);
  const auto parts = step_parts(timeline).at(0).parts;
  EXPECT_NEAR(parts.forward, 2e-3, 1e-9);
  EXPECT_NEAR(parts.backward, 4e-3, 1e-9);
  EXPECT_NEAR(parts.comm_exposed, 2e-3, 1e-9);
  EXPECT_NEAR(parts.comm_overlapped, 1e-3, 1e-9);
  EXPECT_THROW(timeline_of(SampleTrace().kernel(0, 1).profile()), ConfigError);
}

}  // namespace
}  // namespace gradwire

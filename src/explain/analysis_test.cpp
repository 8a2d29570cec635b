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

// Forward 1000-3000, backward 3000-7000 on another thread with an all-reduce from 6000 to 9000, optimizer
// 9000-9500, then nothing until 10000; the DataLoader holds the loop up in the first 1000.
SampleTrace one_step(int rank = 0, double shift = 0, double late = 0) {
  SampleTrace trace;
  trace.distributed(rank, 2).gpus(8).step(3, shift, 10000);
  trace.host("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", shift, 1000);
  trace.gpu("kernel", "forward", shift + 1000, 2000 + late);
  trace.host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", shift + 2980 + late, 50, 2);
  trace.gpu("kernel", "backward", shift + 3000 + late, 4000 - late, 7, "", 5, 2);
  trace.all_reduce(shift + 6000 + late, 3000 - late);
  trace.host("user_annotation", "Optimizer.step#SGD.step", shift + 8980, 40);
  trace.gpu("kernel", "optimizer", shift + 9000, 500);
  return trace;
}

TEST(RankSteps, give_every_moment_of_a_step_one_name) {
  const RankSteps steps = rank_steps(one_step().profile());
  ASSERT_EQ(steps.steps.size(), 1u);
  EXPECT_EQ(steps.steps[0].number, 3);
  const StepShares& shares = steps.steps[0].shares;
  EXPECT_NEAR(shares.parts.data, 1e-3, 1e-9);
  EXPECT_NEAR(shares.parts.forward, 2e-3, 1e-9);
  EXPECT_NEAR(shares.parts.backward, 4e-3, 1e-9);
  EXPECT_NEAR(shares.parts.comm_overlapped, 1e-3, 1e-9);
  EXPECT_NEAR(shares.parts.comm_exposed, 2e-3, 1e-9);
  EXPECT_NEAR(shares.parts.optimizer, 0.5e-3, 1e-9);
  EXPECT_NEAR(shares.idle, 0.5e-3, 1e-9);
  EXPECT_NEAR(shares.step(), 10e-3, 1e-9);
}

TEST(RankSteps, end_a_step_where_the_gpu_is_done_with_it) {
  // The processor is through with both steps after 2 ms; their kernels run 0-5 and 5-10 ms.
  SampleTrace trace;
  trace.step(0, 0, 1000).step(1, 1000, 1000);
  trace.gpu("kernel", "a", 100, 4900, 7, "", 50).gpu("kernel", "b", 5000, 5000, 7, "", 3900);
  const RankSteps steps = rank_steps(trace.profile());
  ASSERT_EQ(steps.steps.size(), 2u);
  EXPECT_NEAR(steps.steps[0].shares.step(), 5e-3, 1e-9);
  EXPECT_NEAR(steps.steps[1].shares.step(), 5e-3, 1e-9);
  EXPECT_NEAR(steps.steps[1].shares.idle, 0, 1e-9);
}

TEST(RankSteps, leave_out_what_was_launched_after_the_last_of_them) {
  // A file cut off in its third step: the step's own mark, which comes last, is missing.
  const auto profile = SampleTrace()
                           .step(1, 0, 100)
                           .kernel(10, 80)
                           .step(2, 100, 100)
                           .kernel(110, 80)
                           .kernel(215, 500)
                           .profile();
  const auto steps = rank_steps(profile);
  ASSERT_EQ(steps.steps.size(), 2u);
  EXPECT_NEAR(steps.mean.step(), 100e-6, 1e-6);
}

TEST(RankSteps, fall_back_to_the_optimizer_or_the_whole_trace) {
  SampleTrace optimizer;
  for (int i = 0; i < 3; ++i)
    optimizer.kernel(i * 100.0 + 10, 50)
        .host("user_annotation", "Optimizer.step#Adam.step", i * 100.0 + 80, 20);
  EXPECT_EQ(rank_steps(optimizer.profile()).steps.size(), 2u);  // the first has no begin
  EXPECT_EQ(rank_steps(optimizer.profile()).marks.steps_from, StepsFrom::optimizer);
  EXPECT_EQ(rank_steps(SampleTrace().kernel(0, 5).kernel(10, 5).profile()).marks.steps_from,
            StepsFrom::whole_trace);
}

// Two seconds of set-up, then steps of 10 ms: 4 of computing, 5 of all-reduce, 1 of the optimizer.
SampleTrace after_set_up(int steps, bool optimizer) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2).host("cpu_op", "aten::empty", 0, 10);
  for (int i = 0; i < steps; ++i) {
    const double begin = 2e6 + i * 10000.0;
    trace.kernel(begin + 10, 3990).all_reduce(begin + 4000, 5000);
    if (optimizer) trace.host("user_annotation", "Optimizer.step#Adam.step", begin + 8990, 1000);
    trace.kernel(begin + 9000, 1000);
  }
  return trace;
}

TEST(RankSteps, leave_out_what_a_program_does_before_its_first_kernel) {
  for (const int steps : {1, 2, 4}) {
    const auto whole = analyze_profiles({after_set_up(steps, false).profile()});
    EXPECT_EQ(whole.verdict.bottleneck, Bottleneck::communication_intra) << steps;
    EXPECT_NEAR(mean_step(whole), steps * 10e-3, 20e-6) << steps;
    const auto marked = analyze_profiles({after_set_up(steps, true).profile()});
    EXPECT_EQ(marked.verdict.bottleneck, Bottleneck::communication_intra) << steps;
    EXPECT_NEAR(mean_step(marked), 10e-3, 20e-6) << steps;
  }
}

TEST(RankSteps, leave_out_what_is_put_on_the_gpu_long_before_the_loop) {
  SampleTrace trace = after_set_up(4, false);
  trace.gpu("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 100, 5000);  // the model
  for (int i = 0; i < 4; ++i)
    trace.host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 2e6 + i * 10000.0 + 3990, 10);
  const auto analysis = analyze_profiles({trace.profile()});
  EXPECT_EQ(analysis.verdict.bottleneck, Bottleneck::communication_intra);
  EXPECT_NEAR(mean_step(analysis), 40e-3, 20e-6);
}

TEST(RankSteps, count_collectives_of_whole_steps_alone) {
  // Of four calls three are in steps whose begin is known: 5 ms a step, not 6.7.
  const auto analysis = analyze_profiles({after_set_up(4, true).profile()});
  EXPECT_NEAR(analysis.collectives.at(0).exposed, 5e-3, 1e-9);
  EXPECT_NEAR(analysis.collectives.at(0).each_step, 1, 1e-9);
  EXPECT_EQ(analysis.collectives.at(0).count, 4);
}

TEST(RankSteps, wait_for_the_only_batch_of_a_trace_without_marks) {
  SampleTrace trace;
  trace.host("cpu_op", "aten::empty", 0, 10);
  trace.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1e6, 60000);
  trace.kernel(1.0601e6, 20000);
  const auto analysis = analyze_profiles({trace.profile()});
  EXPECT_EQ(analysis.verdict.bottleneck, Bottleneck::input);
  EXPECT_NEAR(mean_step(analysis), 80.1e-3, 1e-6);
}

TEST(RankSteps, give_the_optimizer_only_what_follows_the_closure_it_runs) {
  // As one_step, but the optimizer's span holds all of forward and backward, as Lightning's does.
  SampleTrace trace = one_step();
  trace.host("user_annotation", "Optimizer.step#Adam.step", 900, 8300);
  const StepShares shares = rank_steps(trace.profile()).steps.at(0).shares;
  EXPECT_NEAR(shares.parts.forward, 2e-3, 1e-9);
  EXPECT_NEAR(shares.parts.backward, 4e-3, 1e-9);
  EXPECT_NEAR(shares.parts.optimizer, 0.5e-3, 1e-9);
}

TEST(RankSteps, know_backward_by_the_names_it_had_before_the_engine_wrote_its_own) {
  SampleTrace trace;
  trace.step(0, 0, 10000).kernel(1000, 2000);
  trace.host("Operator", "CudnnConvolutionBackward", 2990, 50, 2);
  trace.gpu("Kernel", "dgrad", 3000, 4000, 7, "", 5, 2);
  trace.host("Operator", "torch::autograd::AccumulateGrad", 6990, 50, 2);
  trace.gpu("Kernel", "add", 7000, 500, 7, "", 5, 2);
  const StepShares shares = rank_steps(trace.profile()).steps.at(0).shares;
  EXPECT_NEAR(shares.parts.forward, 2e-3, 1e-9);
  EXPECT_NEAR(shares.parts.backward, 4.5e-3, 1e-9);
}

TEST(RankSteps, count_gloo_as_communication_where_tensors_are_on_a_gpu) {
  // 6 of 10 ms between the copies down and up are the processor's all-reduce.
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2).step(0, 0, 10000).kernel(0, 3000);
  trace.host("user_annotation", "gloo:all_reduce", 3100, 6000, 9).kernel(9100, 900);
  const auto analysis = analyze_profiles({trace.profile()});
  EXPECT_NEAR(analysis.ranks[0].summary.mean.parts.comm_exposed, 6e-3, 1e-9);
  EXPECT_EQ(analysis.collectives.at(0).collective.kind, Collective::all_reduce);
  EXPECT_EQ(analysis.verdict.bottleneck, Bottleneck::communication_intra);
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

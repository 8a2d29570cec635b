#include "explain/rank_steps.h"

#include <gtest/gtest.h>

#include "explain/analysis.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

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

TEST(RankSteps, keeps_steps_apart_whose_marks_touch_within_rounding) {
  SampleTrace trace;
  for (int i = 0; i < 4; ++i)
    trace.step(i, i * 1000.0, i % 2 == 0 ? 1000.25 : 999.75).kernel(i * 1000.0 + 10, 900);
  const RankSteps found = rank_steps(trace.profile());
  ASSERT_EQ(found.steps.size(), 4u);
  EXPECT_NEAR(found.mean.step(), 1e-3, 2e-5);
}

}  // namespace
}  // namespace gradwire

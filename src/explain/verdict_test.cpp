#include "explain/verdict.h"

#include <gtest/gtest.h>

#include "explain/analysis.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

TEST(Verdict, is_communication_inside_the_node_where_it_is_exposed_and_all_ranks_fit_one) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2).step(0, 0, 1000).kernel(10, 400).all_reduce(410, 590);
  EXPECT_EQ(analyze_profiles({trace.profile()}).verdict.bottleneck, Bottleneck::communication_intra);
}

TEST(Verdict, is_communication_between_nodes_where_there_are_more_ranks_than_gpus_in_one) {
  SampleTrace trace;
  trace.distributed(0, 16).gpus(8).step(0, 0, 1000).kernel(10, 400).all_reduce(410, 590, 1 << 20, 16);
  EXPECT_EQ(analyze_profiles({trace.profile()}).verdict.bottleneck, Bottleneck::communication_inter);
}

TEST(Verdict, is_communication_between_nodes_where_there_are_more_ranks_than_the_stated_machine_has) {
  SampleTrace trace;
  trace.distributed(0, 16).gpus(8).step(0, 0, 1000).kernel(10, 400).all_reduce(410, 590, 1 << 20, 16);
  const Machine node = find_machine("dgx-a100"), both = find_machine("2*dgx-a100");
  EXPECT_EQ(analyze_profiles({trace.profile()}, {&node, &node}).verdict.bottleneck,
            Bottleneck::communication_inter);
  EXPECT_EQ(analyze_profiles({trace.profile()}, {&both, &both}).verdict.bottleneck,
            Bottleneck::communication_inter);
  SampleTrace eight;
  eight.distributed(0, 8).gpus(1).step(0, 0, 1000).kernel(10, 400).all_reduce(410, 590, 1 << 20, 8);
  EXPECT_EQ(analyze_profiles({eight.profile()}, {&node, &node}).verdict.bottleneck,
            Bottleneck::communication_intra);
}

TEST(Verdict, is_input_where_the_loop_waits_for_a_batch) {
  SampleTrace trace;
  trace.step(0, 0, 10000)
      .host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 6000);
  trace.kernel(6100, 3800);
  const auto analysis = analyze_profiles({trace.profile()});
  EXPECT_EQ(analysis.verdict.bottleneck, Bottleneck::input);
  EXPECT_EQ(analysis.verdict.figures.size(), 3u);
}

TEST(Verdict, is_input_too_where_nothing_is_launched_for_milliseconds_before_a_batch) {
  for (const bool with_operators : {false, true}) {  // as those that make the batch on the processor
    SampleTrace trace;
    for (int i = 0; i < 2; ++i) {
      const double begin = i * 30000.0;
      trace.step(i, begin, 30000).kernel(begin + 20000, 5000).kernel(begin + 25000, 4900);
      for (int k = 0; with_operators && k < 19; ++k)
        trace.host("cpu_op", "aten::stack", begin + k * 1000.0, 990);
    }
    EXPECT_EQ(analyze_profiles({trace.profile()}).verdict.bottleneck, Bottleneck::input);
  }
}

TEST(Verdict, is_input_where_a_forward_comes_long_after_a_backward_and_no_step_is_marked) {
  for (const bool updated : {false, true}) {  // by kernels that nothing says are the optimizer's
    SampleTrace trace;
    for (int i = 0; i < 3; ++i) {
      const double begin = i * 30000.0;
      trace.kernel(begin + 20000, 3000);
      trace.host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", begin + 20100, 100, 2);
      trace.gpu("kernel", "backward", begin + 23000, 5000, 7, "", 2850, 2);
      if (updated) trace.gpu("kernel", "adam", begin + 28000, 1000, 7, "", 7600);
    }
    EXPECT_EQ(analyze_profiles({trace.profile()}).verdict.bottleneck, Bottleneck::input) << updated;
  }
}

TEST(Verdict, is_launch_where_the_processor_pauses_between_kernels_of_a_step) {
  SampleTrace trace;
  for (int i = 0; i < 3; ++i) {
    trace.step(i, i * 50000.0, 50000);
    for (int k = 0; k < 20; ++k) trace.kernel(i * 50000.0 + k * 2500.0 + 10, 100);
  }
  const auto verdict = analyze_profiles({trace.profile()}).verdict;
  EXPECT_EQ(verdict.bottleneck, Bottleneck::launch);
  EXPECT_NE(verdict.reason.find("launches nothing at all"), std::string::npos) << verdict.reason;
}

TEST(Verdict, is_launch_where_the_processor_pauses_and_the_loader_does_not_hold_it_up) {
  SampleTrace trace;
  trace.step(0, 0, 30000)
      .host("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 5)
      .kernel(10, 5000)
      .kernel(25000, 4000);
  const auto verdict = analyze_profiles({trace.profile()}).verdict;
  EXPECT_EQ(verdict.bottleneck, Bottleneck::launch);
  EXPECT_NE(verdict.reason.find("launches nothing at all"), std::string::npos) << verdict.reason;
}

TEST(Verdict, is_input_where_the_gpu_waits_for_copies_from_the_host) {
  SampleTrace trace;
  trace.step(0, 0, 10000).gpu("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 100, 5000).kernel(5100, 4800);
  const auto analysis = analyze_profiles({trace.profile()});
  EXPECT_EQ(analysis.verdict.bottleneck, Bottleneck::input);
  EXPECT_NEAR(analysis.ranks[0].summary.mean.copies_in, 5e-3, 1e-9);
}

TEST(Verdict, is_not_known_where_the_gpus_side_of_a_run_was_not_recorded) {
  SampleTrace trace;
  trace.distributed(0, 2).step(0, 0, 1000).host("cpu_op", "aten::mm", 0, 900);
  trace.host("user_annotation", "nccl:all_reduce", 900, 20);
  EXPECT_EQ(analyze_profiles({trace.profile()}).verdict.bottleneck, Bottleneck::unknown);
}

TEST(Verdict, is_launch_where_small_kernels_leave_gaps) {
  SampleTrace trace;
  trace.step(0, 0, 1000);
  for (int i = 1; i < 50; ++i) trace.kernel(i * 20.0, 5);
  EXPECT_EQ(analyze_profiles({trace.profile()}).verdict.bottleneck, Bottleneck::launch);
}

TEST(Verdict, is_compute_where_the_gpu_is_busy) {
  EXPECT_EQ(analyze_profiles({SampleTrace().step(0, 0, 1000).kernel(10, 950).profile()}).verdict.bottleneck,
            Bottleneck::compute);
}

TEST(Verdict, names_the_straggler_and_what_it_does_longer) {
  std::vector<Profile> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    const double late = rank == 2 ? 300 : 0;
    SampleTrace trace;
    trace.distributed(rank, 4).gpus(4).step(0, 0, 1000).kernel(10, 500 + late);
    trace.all_reduce(520 + late, 400 - late, 1 << 20, 4);
    ranks.push_back(trace.profile());
  }
  const auto verdict = analyze_profiles(ranks).verdict;
  EXPECT_EQ(verdict.bottleneck, Bottleneck::straggler);
  EXPECT_EQ(verdict.rank, 2);
  EXPECT_NE(verdict.reason.find("computes 0.3 ms longer"), std::string::npos) << verdict.reason;
  EXPECT_NEAR(verdict.figures.at(0).value, 0.3, 1e-6);  // what the step gets shorter without it
}

// Of two ranks: each step one computes 400 us longer and the other waits for it.
std::vector<Profile> ranks_that_wait(const std::vector<int>& late_rank, double late, double transfer) {
  std::vector<Profile> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    SampleTrace trace;
    trace.distributed(rank, 2).gpus(2);
    double begin = 0;
    for (std::size_t i = 0; i < late_rank.size(); ++i) {
      const double more = late_rank[i] == rank ? late : 0, length = 600 + late + transfer;
      trace.step(static_cast<int>(i), begin, length).kernel(begin + 10, 580 + more);
      trace.all_reduce(begin + 595 + more, late + transfer - more);
      begin += length;
    }
    ranks.push_back(trace.profile());
  }
  return ranks;
}

TEST(Verdict, prices_waiting_for_whichever_comes_last_by_what_a_rank_waits_on_average) {
  for (const auto& order : {std::vector{0, 1, 0, 1, 0, 1}, std::vector{0, 1, 0, 1, 0, 1, 0}}) {
    const auto verdict = analyze_profiles(ranks_that_wait(order, 400, 20)).verdict;
    EXPECT_EQ(verdict.bottleneck, Bottleneck::straggler);
    EXPECT_FALSE(verdict.rank);
    EXPECT_NEAR(verdict.figures.at(0).value, 0.2, 0.01);  // half of the 400 us, for even work ends between
  }
}

// What the mean of waiting and of communication says of the steps that a table shows, whoever is to blame.
TEST(Verdict, does_not_say_that_no_loss_takes_a_fifth_where_all_that_is_exposed_does) {
  RankSummary first, second;
  first.rank = 0, second.rank = 1;
  first.mean.parts.backward = 0.063, first.mean.parts.comm_exposed = 0.011, first.wait = 0.006;
  second.mean.parts.backward = 0.041, second.mean.parts.comm_exposed = 0.032, second.wait = 0.025;
  first.varies = second.varies = 0.040;
  first.last_share = 0.8, second.last_share = 0.2;
  const auto verdict = judge_ranks({first, second}, Reach::unknown);
  EXPECT_EQ(verdict.bottleneck, Bottleneck::compute);
  EXPECT_EQ(verdict.reason.find("no loss"), std::string::npos) << verdict.reason;
  EXPECT_NE(verdict.reason.find("21.5 ms are exposed, mostly waiting"), std::string::npos) << verdict.reason;
}

TEST(Verdict, is_communication_inside_the_node_where_the_group_that_waits_stays_in_one) {
  const auto verdict = [](const char* members) {
    SampleTrace trace;
    trace.distributed(0, 16).gpus(8).step(0, 0, 10000).kernel(10, 4000);
    trace.gpu("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 4010, 5000, 20,
              std::string(
                  R"("Collective name": "allreduce", "In msg nelems": 1048576, "Group size": 8, "dtype": )") +
                  R"("Float", "Process Group Name": "3", "Process Group Ranks": ")" + members + '"');
    return analyze_profiles({trace.profile()}).verdict.bottleneck;
  };
  EXPECT_EQ(verdict("[8, 9, 10, 11, 12, 13, 14, 15]"), Bottleneck::communication_intra);
  EXPECT_EQ(verdict("[0, 8]"), Bottleneck::communication_inter);
  EXPECT_EQ(verdict(""), Bottleneck::communication_inter);
}

TEST(Verdict, is_not_given_of_npus_whose_side_is_not_told_apart) {
  SampleTrace trace;
  for (int step = 0; step < 3; ++step) {
    trace.step(step, step * 1000, 1000).host("cpu_op", "aten::matmul", step * 1000 + 5, 10);
    trace.event(fmt::format(
        R"({{"ph": "X", "name": "hcom_allReduce__950_{}_1", "pid": 400, "tid": 6, "ts": "{}.000", "dur": 600}})",
        step, step * 1000 + 200));
  }
  EXPECT_EQ(analyze_profiles({trace.profile()}).verdict.bottleneck, Bottleneck::unknown);
}

}  // namespace
}  // namespace gradwire

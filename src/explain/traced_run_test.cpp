#include "explain/traced_run.h"

#include <gtest/gtest.h>

#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

// Steps of two RTX 3090: 10 ms of forward, 20 of backward, then an all-reduce of 100 MiB that takes so long.
Profile run_with(double all_reduce, const char* gpu = "NVIDIA GeForce RTX 3090") {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2, gpu);
  for (int step = 0; step < 4; ++step) {
    const double begin = step * (30030 + all_reduce);
    trace.step(step, begin, 30020 + all_reduce).kernel(begin + 10, 10000);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 10000, 20000, 2);
    trace.gpu("kernel", "void gemm<float>(int)", begin + 10010, 20000, 7, "", 5, 2);
    trace.all_reduce(begin + 30010, all_reduce, 100 << 18);
  }
  return trace.profile();
}

std::vector<std::string> remarks(const Profile& profile, const std::vector<const char*>& names) {
  const RunAnalysis analysis = analyze_profiles({profile});
  const RecordedModel model = recorded_run({profile}, analysis).recorded;
  StepOptions options;
  options.anchor = model.anchor;
  std::vector<Machine> machines;
  for (const char* name : names) machines.push_back(find_machine(name));
  return remarks_on(traced_run(analysis, profile.file), model.workload, options, machines);
}

TEST(TracedRun, says_that_it_took_longer_than_its_machine_is_said_to) {
  const auto said = remarks(run_with(60000), {"2x-rtx3090-pcie", "2x-rtx3090-nvlink"});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("the run itself took 90.0 ms a step"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("reached 1.75 GB/s of busbw"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("gradwire doctor sample.json"), std::string::npos) << said[0];
  EXPECT_TRUE(remarks(run_with(16000), {"2x-rtx3090-pcie"}).empty()) << "as the model has it";
}

// Micro-batches of 10 ms of forward and 20 of backward, each marked as a step; every fourth then sends 100 MiB.
Profile accumulating_run(int first, int count) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2, "NVIDIA GeForce RTX 3090");
  double begin = 0;
  for (int micro = first; micro < first + count; ++micro) {
    const double sends = micro % 4 == 3 ? 40000 : 0;
    trace.step(micro, begin, 30020 + sends).kernel(begin + 10, 10000);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 10000, 20000, 2);
    trace.gpu("kernel", "void gemm<float>(int)", begin + 10010, 20000, 7, "", 5, 2);
    if (sends > 0) trace.all_reduce(begin + 30010, sends, 100 << 18);
    trace.all_reduce(begin + 30012 + sends, 5, 1);  // the loss, for a log
    begin += 30030 + sends;
  }
  return trace.profile();
}

TEST(TracedRun, takes_the_micro_batches_between_two_all_reduces_of_gradients_for_one_step) {
  for (const int first : {0, 2}) {  // also where the trace begins in the middle of one
    const Profile profile = accumulating_run(first, 16);
    const TracedModel model = recorded_run({profile}, analyze_profiles({profile}));
    EXPECT_EQ(model.micro_batches, 4);
    const Breakdown& parts = *model.recorded.anchor.recorded;
    EXPECT_NEAR(parts.forward + parts.backward, 4 * 0.030, 0.001);
    EXPECT_NEAR(parts.comm_exposed, 0.040, 0.001);
  }
  EXPECT_EQ(traced_steps(run_with(16000)).micro_batches, 1);
  EXPECT_EQ(traced_steps(accumulating_run(3, 4)).micro_batches, 1);  // one all-reduce tells of no order
}

// One step of 540 ms between two that the trace has in part: 510, 10, 10, 10 and 510 ms are marked.
TEST(TracedRun, says_how_long_a_step_of_all_its_micro_batches_took) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2, "NVIDIA GeForce RTX 3090");
  double begin = 0;
  for (int micro = 0; micro < 5; ++micro) {
    const double sends = micro % 4 == 0 ? 500000 : 0;
    trace.step(micro, begin, 10000 + sends).kernel(begin + 10, 3000);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 3000, 6000, 2);
    trace.gpu("kernel", "void gemm<float>(int)", begin + 3010, 6900, 7, "", 5, 2);
    if (sends > 0) trace.all_reduce(begin + 9990, sends, 100 << 18);
    begin += 10000 + sends;
  }
  const auto said = remarks(trace.profile(), {"2x-rtx3090-pcie"});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("the run itself took 540."), std::string::npos) << said[0];
}

TEST(TracedRun, says_whose_computing_stands_for_that_of_other_gpus) {
  const auto said = remarks(run_with(1000, "NVIDIA A100-SXM4-80GB"), {"2x-rtx3090-pcie"});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("computing as measured on NVIDIA A100-SXM4-80GB stands for that of"),
            std::string::npos)
      << said[0];
  EXPECT_EQ(remarks(run_with(1000, "AMD Instinct MI250X"), {"2x-rtx3090-pcie"}).size(), 1u);
}

}  // namespace
}  // namespace gradwire

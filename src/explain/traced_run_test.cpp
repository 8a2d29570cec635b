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
  const RecordedModel model = recorded_run({profile}, analysis);
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

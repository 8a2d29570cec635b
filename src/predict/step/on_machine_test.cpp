#include "predict/step/on_machine.h"

#include <gmock/gmock.h>

#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

TEST(OnMachine, OneGpuHasNothingToSend) {
  const auto wires = wires_of(with_gpus(find_machine("dgx-a100"), 1), 1 << 20);
  EXPECT_EQ(wires.ranks, 1);
  EXPECT_EQ(wires.all_reduce(1 << 20), 0);
}

TEST(OnMachine, GeForceWithoutBridgeGoesThroughHostMemory) {
  const auto wires = wires_of(find_machine("2x-rtx3090-pcie"), 25 << 20);
  EXPECT_TRUE(wires.through_host);
  EXPECT_EQ(wires.staged_share, 1);
  EXPECT_FALSE(wires_of(find_machine("2x-rtx3090-nvlink"), 25 << 20).through_host);
}

TEST(OnMachine, NvlinkIsFasterThanHostMemory) {
  const auto bridged = wires_of(find_machine("2x-rtx3090-nvlink"), 25 << 20);
  const auto staged = wires_of(find_machine("2x-rtx3090-pcie"), 25 << 20);
  EXPECT_LT(3 * bridged.all_reduce(25 << 20), staged.all_reduce(25 << 20));
}

TEST(OnMachine, AllReduceNeverGetsFasterWithMoreBytesByMuch) {
  const auto wires = wires_of(find_machine("dgx-a100"), 25 << 20);
  for (Bytes bytes = 1 << 16; bytes < Bytes{1} << 30; bytes *= 2)
    EXPECT_GE(wires.all_reduce(2 * bytes), 0.9 * wires.all_reduce(bytes)) << bytes;
}

// From 1 node to 2048 nodes of 8: the step gets longer and stays a step.
TEST(OnMachine, SixteenThousandGpusAreAStepToo) {
  StepOptions options;
  options.overlap = true;
  const auto workload = build_model("resnet50");
  const auto small = estimate_step(workload, find_machine("dgx-h100"), options);
  const auto large = estimate_step(workload, find_machine("2048*dgx-h100@ndr"), options);
  EXPECT_EQ(large.ranks, 16384);
  EXPECT_GT(large.step, small.step);
  EXPECT_LT(large.step, 100 * small.step);
}

}  // namespace
}  // namespace gradwire

#include "predict/step/on_machine.h"

#include <gmock/gmock.h>

#include <map>

#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

TEST(OnMachine, one_gpu_has_nothing_to_send) {
  const auto wires = wires_of(with_gpus(find_machine("dgx-a100"), 1), 1 << 20);
  EXPECT_EQ(wires.ranks, 1);
  EXPECT_EQ(wires.all_reduce(1 << 20), 0);
}

TEST(OnMachine, ge_force_without_bridge_goes_through_host_memory) {
  const auto wires = wires_of(find_machine("2x-rtx3090-pcie"), 25 << 20);
  EXPECT_TRUE(wires.through_host);
  EXPECT_EQ(wires.staged_share, 1);
  EXPECT_FALSE(wires_of(find_machine("2x-rtx3090-nvlink"), 25 << 20).through_host);
}

Seconds step_with(const std::string& on, const std::map<std::string, std::string>& environment) {
  StepOptions options;
  options.overlap = true;
  options.nccl = nccl_settings(environment);
  return estimate_step(build_model("bert-large"), find_machine(on), options).step;
}

TEST(OnMachine, host_memory_hides_nothing_whoever_sends_data_there) {
  const Seconds forbidden = step_with("2x-a6000-pcie", {{"NCCL_P2P_DISABLE", "1"}});
  EXPECT_DOUBLE_EQ(step_with("2x-a6000-pcie", {{"NCCL_P2P_LEVEL", "NVL"}}), forbidden);
  EXPECT_LT(step_with("2x-a6000-pcie", {}), 0.95 * forbidden) << "peer access, which AMD's processors allow";
}

// Peer access is possible, but Intel's host bridges lie beyond what NCCL goes straight over.
TEST(OnMachine, cards_with_peer_access_go_through_host_memory_where_nccl_takes_them_there) {
  const auto wires = wires_of(find_machine("2x-h100-pcie-pcie"), 25 << 20);
  EXPECT_TRUE(wires.through_host);
  EXPECT_EQ(wires.staged_share, 0) << "frameworks that copy by themselves use it";
}

TEST(OnMachine, a_second_box_makes_no_step_shorter) {
  for (const char* network : {"8x-ndr", "2x-ndr", "100gbe", "10gbe"}) {
    const std::string both = std::string("2*8x-rtx4090-pcie@") + network;
    EXPECT_GE(step_with(both, {}), step_with("8x-rtx4090-pcie", {})) << both;
  }
}

// 1.2 GB/s of a node against 14 around its rings: host memory is busy a tenth of the time.
TEST(OnMachine, host_memory_that_waits_for_the_network_is_out_of_the_way) {
  const auto fast = wires_of(find_machine("2*8x-rtx4090-pcie@8x-ndr"), 25 << 20);
  const auto slow = wires_of(find_machine("2*8x-rtx4090-pcie@10gbe"), 25 << 20);
  EXPECT_TRUE(fast.through_host && slow.through_host);
  EXPECT_EQ(wires_of(find_machine("8x-rtx4090-pcie"), 25 << 20).host_share, 1);
  EXPECT_GT(fast.host_share, 0.5);
  EXPECT_LT(slow.host_share, 0.2);
}

TEST(OnMachine, nvlink_is_faster_than_host_memory) {
  const auto bridged = wires_of(find_machine("2x-rtx3090-nvlink"), 25 << 20);
  const auto staged = wires_of(find_machine("2x-rtx3090-pcie"), 25 << 20);
  EXPECT_LT(3 * bridged.all_reduce(25 << 20), staged.all_reduce(25 << 20));
}

TEST(OnMachine, all_reduce_never_gets_faster_with_more_bytes_by_much) {
  const auto wires = wires_of(find_machine("dgx-a100"), 25 << 20);
  for (Bytes bytes = 1 << 16; bytes < Bytes{1} << 30; bytes *= 2)
    EXPECT_GE(wires.all_reduce(2 * bytes), 0.9 * wires.all_reduce(bytes)) << bytes;
}

// From 1 node to 2048 nodes of 8: the step gets longer and stays a step.
TEST(OnMachine, sixteen_thousand_gpus_are_a_step_too) {
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

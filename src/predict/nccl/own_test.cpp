#include "predict/nccl/own.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "predict/nccl/all_reduce.h"

namespace gradwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A host whose memory path gives a third of what is usual, or another part.
OwnSweep slow_sweep(const Machine& machine, double times = 3) {
  const NcclModel usual(machine);
  OwnSweep sweep{static_cast<int>(machine.gpus.size()), {}};
  for (Bytes bytes = Bytes{1} << 20; bytes <= Bytes{1} << 30; bytes *= 4)
    sweep.rows.emplace_back(bytes, times * usual.all_reduce(bytes).time);
  return sweep;
}

TEST(OwnMeasurements, move_that_machine_to_what_was_measured_and_narrow_its_range) {
  Machine machine = find_machine("4x-rtx3090-pcie");
  const double usual = NcclModel(machine).all_reduce(Bytes{64} << 20).time;
  take_measured(machine, {{slow_sweep(machine)}, {}}, {});
  EXPECT_NEAR(NcclModel(machine).all_reduce(Bytes{64} << 20).time / usual, 3, 0.3);
  EXPECT_LT(machine.measured->now, machine.measured->before / 2);
  EXPECT_TRUE(machine.measured->rates);
  EXPECT_DOUBLE_EQ(NcclModel(find_machine("4x-rtx3090-pcie")).all_reduce(Bytes{64} << 20).time, usual)
      << "others stay as they were";
}

TEST(OwnMeasurements, leave_open_what_they_say_nothing_of) {
  const Machine usual = find_machine("2x-rtx3090-pcie");
  const auto error_at = [](const Machine& machine, Bytes bytes) {
    return NcclModel(machine).all_reduce(bytes).relative_error;
  };
  Machine small = usual, large = usual, short_of = usual;
  take_measured(small, {{{2, {{1024, 12e-6}, {8192, 14e-6}, {32768, 20e-6}, {131072, 47e-6}}}}, {}}, {});
  EXPECT_NEAR(error_at(small, 64 << 20), error_at(usual, 64 << 20), 0.1) << "no rate was measured";
  EXPECT_FALSE(small.measured->rates);
  EXPECT_LT(error_at(small, 8192), error_at(usual, 8192));
  take_measured(large, {{slow_sweep(usual)}, {}}, {});
  EXPECT_GT(error_at(large, 8192), 0.5 * error_at(usual, 8192)) << "no latency was measured";
  take_measured(short_of, {{{2, {{1 << 20, 160e-6}, {2 << 20, 318e-6}, {4 << 20, 630e-6}}}}, {}}, {});
  EXPECT_GT(error_at(short_of, 64 << 20), error_at(large, 64 << 20)) << "it ends before the full rate";
}

TEST(OwnMeasurements, that_no_such_links_can_have_given_are_refused) {
  Machine machine = find_machine("2x-rtx3090-pcie");
  const auto refused = [&](Bytes bytes, Seconds time) {
    try {
      take_measured(machine, {{{2, {{bytes, time}}}}, {}}, {});
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused(Bytes{1} << 25, 8e-6), HasSubstr("times as fast as links of 2x-rtx3090-pcie"))
      << "4200 MB/s taken for GB/s";
  EXPECT_THAT(refused(Bytes{1} << 25, 8000), HasSubstr("in which unit")) << "milliseconds taken for seconds";
  EXPECT_EQ(refused(Bytes{1} << 25, 8e-3 * 19), "") << "the slowest host on record";
  EXPECT_EQ(refused(1024, 1e-9), "") << "small ones tell no rate";
}

TEST(OwnMeasurements, go_on_with_the_machine_when_its_cards_are_rearranged) {
  Machine machine = find_machine("4x-rtx3090-pcie");
  take_measured(machine, {{slow_sweep(machine)}, {}}, {});
  const Machine again = build_machine(machine.node);
  EXPECT_DOUBLE_EQ(NcclModel(again).all_reduce(1 << 26).time, NcclModel(machine).all_reduce(1 << 26).time);
}

TEST(OwnMeasurements, of_copies_move_what_rings_get_there) {
  Machine slow = find_machine("2x-rtx3090-pcie");
  take_measured(slow, {{}, {{0, 1, 6.1, true}}},
                {});  // both ways, staged: eight RTX 3090 of NVIDIA/nccl issue 1127
  const auto estimate = NcclModel(slow).all_reduce(Bytes{1} << 30);
  EXPECT_NEAR(estimate.bus_gbps, 6.1 / 2 * 1.33, 0.8);
  Machine bridged = find_machine("2x-rtx3090-nvlink");
  take_measured(bridged, {{}, {{0, 1, 80, false}}}, {});
  EXPECT_NEAR(NcclModel(bridged).all_reduce(Bytes{1} << 30).bus_gbps, 38, 3);
}

TEST(OwnMeasurements, of_other_machines_are_refused) {
  Machine machine = find_machine("2x-rtx3090-pcie");
  EXPECT_THROW(take_measured(machine, {{{4, {{1 << 20, 1e-3}}}}, {}}, {}), ConfigError);
  EXPECT_THROW(take_measured(machine, {{}, {{0, 7, 20, false}}}, {}), ConfigError);
  Machine several = find_machine("2*2x-rtx3090-pcie@10gbe");
  EXPECT_THROW(take_measured(several, {{{3, {{1 << 20, 1e-3}}}}, {}}, {}), ConfigError);
  EXPECT_THROW(take_measured(several, {{{6, {{1 << 20, 1e-3}}}}, {}}, {}), ConfigError);
  EXPECT_THROW(take_measured(several, {{}, {{0, 2, 20, false}}}, {}), ConfigError) << "of two nodes";
}

TEST(OwnMeasurements, of_part_of_a_machine_or_of_another_gpu_are_taken_with_a_remark) {
  const auto remarks = [](const char* on, OwnSweep sweep) {
    Machine machine = find_machine(on);
    take_measured(machine, {{std::move(sweep)}, {}}, {});
    return machine.measured->remarks;
  };
  const std::vector<std::pair<Bytes, Seconds>> rows = {{1 << 24, 5e-3}, {1 << 26, 20e-3}};
  EXPECT_THAT(remarks("2x-rtx3090-pcie", {2, rows, 0, "NVIDIA GeForce RTX 3090"}), IsEmpty());
  EXPECT_THAT(remarks("2x-rtx3090-pcie", {2, rows}), IsEmpty()) << "not told";
  EXPECT_THAT(remarks("4x-rtx3090-pcie", {2, rows}), ElementsAre(HasSubstr("2 of its 4 GPUs were measured")));
  EXPECT_THAT(remarks("2x-rtx3090-pcie", {2, rows, 0, "NVIDIA GeForce RTX 4090"}),
              ElementsAre("it was measured on NVIDIA GeForce RTX 4090, not on NVIDIA GeForce RTX 3090"));
}

TEST(OwnMeasurements, over_several_nodes_move_the_network_and_those_of_one_node_what_is_inside) {
  const auto gbps = [](const Machine& machine) {
    return NcclModel(machine).all_reduce(Bytes{256} << 20).bus_gbps;
  };
  const Machine fast = find_machine("2*4x-rtx3090-pcie@hdr");
  Machine slow = fast;
  take_measured(slow, {{slow_sweep(fast, 1.5)}, {}}, {});
  EXPECT_NEAR(gbps(slow) / gbps(fast), 1 / 1.5, 0.05);
  EXPECT_LT(slow.measured->now, slow.measured->before);
  const Machine usual = find_machine("2*4x-rtx3090-pcie@10gbe");
  Machine inside = usual;
  take_measured(inside, {{slow_sweep(find_machine("4x-rtx3090-pcie"))}, {}}, {});
  EXPECT_NEAR(gbps(inside) / gbps(usual), 1, 0.1) << "the network is as it was";
  EXPECT_NEAR(inside.measured->now, inside.measured->before, 0.5 * inside.measured->before);
}

TEST(OwnMeasurements, of_one_gpu_of_each_node_are_told_from_those_of_one_node) {
  const Machine usual = find_machine("2*2x-rtx3090-nvlink@10gbe");
  const std::vector<std::pair<Bytes, Seconds>> rows = {{1 << 26, 0.15}, {1 << 28, 0.6}};  // 0.45 GB/s
  Machine each = usual;
  take_measured(each, {{{2, rows, 2}}, {}}, {});
  EXPECT_LT(NcclModel(each).all_reduce(1 << 28).bus_gbps, 0.9);
  EXPECT_GT(NcclModel(usual).all_reduce(1 << 28).bus_gbps, 1);
}

}  // namespace
}  // namespace gradwire

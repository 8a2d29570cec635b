#include "sim/network.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "sched/algorithms.h"
#include "sim/ring_estimate.h"
#include "sim/simulate.h"

namespace gradwire {
namespace {

TEST(MachineNetwork, has_a_pipe_for_every_link_and_the_machines_paths) {
  const Machine machine = find_machine("2x-titan-rtx-nvlink");
  const Network network = make_network(machine, all_pairs(2));
  EXPECT_EQ(network.pipes().size(), machine.topology.links().size());
  const Path path = find_path(machine, machine.gpus[0], machine.gpus[1]);
  EXPECT_TRUE(std::ranges::equal(network.route(network.way({0, 1})), path.links));
  EXPECT_DOUBLE_EQ(network.latency(network.way({0, 1})), path.latency);
}

TEST(MachineNetwork, makes_a_ring_as_fast_as_its_narrowest_hop_allows) {
  const Machine machine = find_machine("dgx-a100");
  const Network network = make_network(machine, ring_pairs(8));
  const Estimate estimate = estimate_ring({Bytes{1} << 30, 1}, network);
  const double rate = find_path(machine, machine.gpus[0], machine.gpus[1]).bytes_per_s;
  // 14 rounds of 128 MiB; latencies are microseconds beside them.
  EXPECT_NEAR(estimate.high, 14 * (1 << 27) / rate, 0.01 * estimate.high);
  EXPECT_TRUE(estimate.exact());
}

Seconds replay_ring(const RingCall& call, const Network& network) {
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < network.world(); ++rank)
    plans.push_back(make_plan(ring_all_reduce(rank, network.world(), call.cut)));
  return simulate_time(plans, divide_evenly(plans[0].part.shape, call.bytes), network).time;
}

TEST(MachineNetwork, lets_the_shortcut_include_the_replay_on_machines_people_have) {
  for (const char* name :
       {"2x-titan-rtx-nvlink", "2x-titan-rtx-pcie", "dgx-1", "dgx-2", "dgx-h100", "8x-rtx4090-pcie-pxb",
        "4x-t4-pcie-phb", "2*dgx-a100@hdr", "3*2x-rtx3090-nvlink@10gbe"}) {
    const Machine machine = find_machine(name);
    const Network network = make_network(machine, ring_pairs(static_cast<int>(machine.gpus.size())));
    for (const RingCall& call : {RingCall{25 << 20, 1}, RingCall{25 << 20, 7}, RingCall{4096, 1}}) {
      const Estimate estimate = estimate_ring(call, network);
      const Seconds replayed = replay_ring(call, network);
      EXPECT_LE(estimate.low, replayed * (1 + 1e-9)) << name;
      EXPECT_GE(estimate.high, replayed * (1 - 1e-9)) << name;
      EXPECT_LT(estimate.error(), call.bytes > 4096 ? 0.05 : 1) << name;
    }
  }
}

// Both ways between two GPUs, 1 GB each, at once.
Seconds exchange(const char* name) {
  const Network network = make_network(find_machine(name), all_pairs(2));
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < 2; ++rank)
    plans.push_back(
        make_plan({rank, {{1, 0, 1}}, {Step::send(1 - rank, out(0)), Step::recv(1 - rank, scratch(0, 0))}}));
  return simulate_time(plans, equal_chunks(1, 1'000'000'000), network).time;
}

TEST(MachineNetwork, makes_neighbours_on_one_switch_slower_than_strangers_when_data_goes_through_the_host) {
  // Without peer access data goes up to host memory and down again. Under one switch both directions share
  // its one uplink, which carries every byte of both; GPUs on two sockets have an uplink each.
  EXPECT_GT(exchange("2x-rtx4090-pcie-pix"), 1.5 * exchange("2x-rtx4090-pcie-sys"));
}

TEST(MachineNetwork, names_ranks_that_are_not_there) {
  const Machine machine = find_machine("2x-titan-rtx-pcie");
  EXPECT_THROW(make_network(machine, std::vector<Pair>{{0, 2}}), ConfigError);
}

}  // namespace
}  // namespace gradwire

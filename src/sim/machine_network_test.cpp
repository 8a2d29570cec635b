#include "sim/machine_network.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "sim/ring_estimate.h"

namespace gradwire {
namespace {

TEST(MachineNetwork, HasAPipeForEveryLinkAndTheMachinesPaths) {
  const Machine machine = find_machine("2x-titan-rtx-nvlink");
  const Network network = make_network(machine, all_pairs(2));
  EXPECT_EQ(network.pipes().size(), machine.topology.links().size());
  const Path path = find_path(machine, machine.gpus[0], machine.gpus[1]);
  EXPECT_TRUE(std::ranges::equal(network.route(network.way({0, 1})), path.links));
  EXPECT_DOUBLE_EQ(network.latency(network.way({0, 1})), path.latency);
}

TEST(MachineNetwork, MakesARingAsFastAsItsNarrowestHopAllows) {
  const Machine machine = find_machine("dgx-a100");
  const Network network = make_network(machine, ring_pairs(8));
  const Estimate estimate = estimate_ring({Bytes{1} << 30, 1}, network);
  const double rate = find_path(machine, machine.gpus[0], machine.gpus[1]).bytes_per_s;
  // 14 rounds of 128 MiB; latencies are microseconds beside them.
  EXPECT_NEAR(estimate.high, 14 * (1 << 27) / rate, 0.01 * estimate.high);
  EXPECT_TRUE(estimate.exact());
}

TEST(MachineNetwork, NamesRanksThatAreNotThere) {
  const Machine machine = find_machine("2x-titan-rtx-pcie");
  EXPECT_THROW(make_network(machine, std::vector<Pair>{{0, 2}}), ConfigError);
}

}  // namespace
}  // namespace gradwire

// What crosses the cable between two hosts with two ranks each, counted by the kernel.
#include <gtest/gtest.h>

#include <array>

#include "comm/make.h"
#include "namespaces/two_hosts.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

constexpr std::size_t kBytes = 16 << 20;

void run_ranks(const TwoHosts& hosts, const std::string& backend, int calls) {
  RunOptions options;
  options.interface = TwoHosts::kNetwork;
  options.before_join = [&hosts](Rank rank) { hosts.enter(rank % 2); };
  const auto reduce = [&](World world) {
    world.trusts_network = true;
    const auto communicator = make_communicator(world, backend);
    const Memory memory = communicator->allocate(kBytes);
    for (float& value : memory.as<float>()) value = 1;
    for (int i = 0; i < calls; ++i) communicator->run(all_reduce(memory.bytes(), DType::f32));
    EXPECT_EQ(memory.as<float>()[kBytes / 8], calls == 0 ? 1 : 4);
  };
  expect_all_ok(run_processes(4, reduce, options));
}

// What each host sent for one all-reduce of kBytes between ranks 0 and 2 here, 1 and 3 there, without what it
// takes to set up and part.
std::array<Bytes, 2> count_bytes(const std::string& backend) {
  const TwoHosts hosts;
  run_ranks(hosts, backend, 0);
  const std::array<Bytes, 2> set_up = {hosts.bytes_sent(0), hosts.bytes_sent(1)};
  run_ranks(hosts, backend, 1);
  return {hosts.bytes_sent(0) - 2 * set_up[0], hosts.bytes_sent(1) - 2 * set_up[1]};
}

TEST(HierarchicalOverACable, moves_each_byte_once_in_each_direction) {
  if (const auto obstacle = TwoHosts::find_obstacle()) GTEST_SKIP() << *obstacle;
  for (const std::string backend : {"shm+tcp", "shm+gloo", "auto"})
    for (const Bytes sent : count_bytes(backend)) {
      EXPECT_GE(sent, kBytes) << backend;
      EXPECT_LE(sent, kBytes / 100 * 105) << backend;  // headers of TCP and IP
    }
}

}  // namespace
}  // namespace gradwire

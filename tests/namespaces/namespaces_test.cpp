// The TCP transport between machines, as far as the kernel's network namespaces are machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "namespaces/two_hosts.h"
#include "net/tcp/tcp_transport.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using Buffer = std::vector<std::byte>;

class Namespaces : public testing::Test {
 protected:
  // Skipped where the machine does not permit it. Continuous integration runs as root, where it does.
  void SetUp() override {
    if (const auto obstacle = TwoHosts::find_obstacle()) GTEST_SKIP() << *obstacle;
  }

  // Ranks as processes that meet and talk over the cable; the even ranks are on host 0, the odd ones on
  // host 1.
  static std::vector<Outcome> run(const TwoHosts& hosts, int ranks, const RankFunction& function) {
    RunOptions options;
    options.interface = TwoHosts::kNetwork;
    options.before_join = [&hosts](Rank rank) { hosts.enter(rank % 2); };
    return run_processes(ranks, function, options);
  }
  static Deadline soon() { return Deadline::after(30); }
};

TEST_F(Namespaces, carry_messages_of_ranks_on_two_hosts_over_the_cable) {
  constexpr std::size_t kSize = 3 << 20;
  constexpr int kRanks = 4;
  const TwoHosts hosts;
  expect_all_ok(run(hosts, kRanks, [&](const World& world) {
    const auto transport = make_tcp_transport(world);
    const Buffer out(kSize, static_cast<std::byte>(world.rank + 1));
    std::vector<Buffer> in(kRanks, Buffer(kSize));
    std::set<Ticket> tickets;
    for (Rank peer = 0; peer < kRanks; ++peer) {
      if (peer == world.rank) continue;
      transport->send(peer, {}, out, peer);
      transport->recv(peer, {}, in[peer], kRanks + peer);
    }
    while (tickets.size() < 2 * (kRanks - 1)) tickets.insert(transport->wait_any(soon()));
    for (Rank peer = 0; peer < kRanks; ++peer)
      EXPECT_TRUE(peer == world.rank || in[peer] == Buffer(kSize, static_cast<std::byte>(peer + 1)));
  }));
  // Two ranks on each host, each with a message for two ranks on the other; frames add less than a tenth.
  for (const int host : {0, 1}) {
    EXPECT_GE(hosts.bytes_sent(host), 4 * kSize);
    EXPECT_LE(hosts.bytes_sent(host), 4 * kSize / 10 * 11 + 100'000);
  }
}

TEST_F(Namespaces, carry_messages_over_a_slow_cable) {
  constexpr std::size_t kSize = 4 << 20;
  const TwoHosts hosts(1);
  expect_all_ok(run(hosts, 2, [&](const World& world) {
    const auto transport = make_tcp_transport(world);
    const Buffer out(kSize, static_cast<std::byte>(world.rank + 1));
    Buffer in(kSize);
    transport->send(1 - world.rank, {}, out, 1);
    transport->recv(1 - world.rank, {}, in, 2);
    transport->wait_any(soon());
    transport->wait_any(soon());
    EXPECT_EQ(in, Buffer(kSize, static_cast<std::byte>(2 - world.rank)));
  }));
}

TEST_F(Namespaces, let_a_rank_name_whom_it_waited_for_when_the_cable_is_pulled) {
  TwoHosts hosts;
  const auto outcomes = run_threads(2, [&](World world) {  // whose store needs no cable
    hosts.enter(world.rank);
    world.interface = TwoHosts::kNetwork;
    const auto transport = make_tcp_transport(world);
    if (world.rank == 0) hosts.pull_cable();
    Buffer in(8);
    transport->recv(1 - world.rank, {}, in, 1);
    transport->wait_any(Deadline::after(0.3));
  });
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "Timeout") << describe(outcome);
    EXPECT_THAT(outcome.text, HasSubstr("waited too long for rank " + std::to_string(1 - outcome.rank)));
  }
}

TEST_F(Namespaces, are_gone_when_their_owner_is) {
  const auto hosts_here = [] {
    return std::system("test -z \"$(ip netns list)\" && ! ip link show link0 2>/dev/null");
  };
  const int before = hosts_here();
  for (int round = 0; round < 5; ++round) TwoHosts hosts(10);
  EXPECT_EQ(hosts_here(), before);
}

}  // namespace
}  // namespace gradwire

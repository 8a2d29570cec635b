// Hosts are played by names: ranks that are given the same $GRADWIRE_HOST share memory, others use TCP on
// loopback.
#include "comm/hierarchical/hierarchical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "comm/collectives_conformance.h"
#include "comm/make.h"
#include "comm/modules.h"
#include "comm/scheduled/scheduled.h"
#include "comm/shm/shm.h"
#include "net/tcp/tcp_transport.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// hosts[r] is the host of rank r.
void on_hosts(const std::vector<int>& hosts, const RankFunction& function) {
  expect_all_ok(run_processes(static_cast<int>(hosts.size()), [&](const World& world) {
    ::setenv("GRADWIRE_HOST", std::to_string(hosts[world.rank]).c_str(), 1);
    function(world);
  }));
}

using Factory = std::unique_ptr<Collectives> (*)(const World&);
std::unique_ptr<Collectives> tcp(const World& world) { return make_scheduled(make_tcp_transport(world)); }
std::unique_ptr<Collectives> gloo(const World& world) { return open_gloo(world); }

std::unique_ptr<Collectives> make_shm_and(Factory across, const World& world) {
  return make_hierarchical(world, make_shm, across);
}

class HierarchicalOnHosts : public testing::TestWithParam<std::vector<int>> {};

TEST_P(HierarchicalOnHosts, does_every_collective_right) {
  on_hosts(GetParam(), [](const World& world) {
    const ConformanceOptions options{.dtypes = {DType::f32},
                                     .reductions = {Reduction::sum, Reduction::avg},
                                     .counts = {0, 17, 1027},
                                     .large_count = 0};
    EXPECT_THAT(check_collectives(*make_shm_and(tcp, world), options), IsEmpty());
  });
}

INSTANTIATE_TEST_SUITE_P(OfAllShapes, HierarchicalOnHosts,
                         testing::Values(std::vector{0, 0, 1, 1}, std::vector{0, 1, 0, 1},
                                         std::vector{0, 0, 0, 1, 1, 2}, std::vector{0, 1},
                                         std::vector{0, 0}));

TEST(Hierarchical, sums_buffers_of_many_pieces_and_an_odd_rest) {
  on_hosts({0, 0, 1, 1}, [](const World& world) {
    const auto communicator = make_communicator(world, "shm+tcp");
    for (const std::size_t count : {std::size_t{3'000'001}, std::size_t{8193}, std::size_t{5'242'880}}) {
      const Memory memory = communicator->allocate(count * 4);
      for (std::size_t i = 0; i < count; ++i)
        memory.as<float>()[i] = static_cast<float>(i % 1000) + static_cast<float>(world.rank);
      communicator->run(all_reduce(memory.bytes(), DType::f32));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i)
        wrong += memory.as<float>()[i] != 4 * static_cast<float>(i % 1000) + 6;
      EXPECT_EQ(wrong, 0U);
    }
  });
}

TEST(Hierarchical, uses_gloo_between_hosts_when_told) {
  on_hosts({0, 0, 1, 1}, [](const World& world) {
    const ConformanceOptions options{.kinds = {Collective::all_reduce, Collective::broadcast},
                                     .dtypes = {DType::f64},
                                     .counts = {0, 1, 1027}};
    EXPECT_THAT(check_collectives(*make_shm_and(gloo, world), options), IsEmpty());
  });
}

TEST(Hierarchical, auto_takes_what_fits_the_hosts) {
  const auto expect_name = [](const std::vector<int>& hosts, const std::string& name) {
    on_hosts(hosts, [&](const World& world) { EXPECT_EQ(make_communicator(world)->name(), name); });
  };
  expect_name({0, 0}, "shm");
  expect_name({0, 1}, "tcp");
  expect_name({0, 0, 1}, "shm+tcp");
}

// Rank 1 waits for rank 0, its leader, and loses patience first; rank 0 waits for rank 2, the other leader.
TEST(Hierarchical, leads_from_the_rank_that_is_waited_for_to_the_one_that_is_stopped) {
  const std::vector<int> hosts = {0, 0, 1, 1};
  const auto outcomes =
      run_processes(4,
                    [&](const World& world) {
                      ::setenv("GRADWIRE_HOST", std::to_string(hosts[world.rank]).c_str(), 1);
                      const auto communicator = make_communicator(world, "shm+tcp");
                      const Memory memory = communicator->allocate(64);
                      Call sum = all_reduce(memory.bytes(), DType::f32);
                      communicator->run(sum);
                      if (world.rank == 2) ::raise(SIGSTOP);
                      sum.timeout = world.rank == 1 ? 3 : 3.3;
                      communicator->run(sum);
                    },
                    {.timeout = 10});
  EXPECT_THAT(outcomes[1].text, HasSubstr("for rank 0"));
  EXPECT_THAT(outcomes[0].text, HasSubstr("rank 2"));
  for (const Rank rank : {0, 1, 3}) EXPECT_EQ(outcomes[rank].error, "Timeout") << describe(outcomes[rank]);
}

TEST(Hierarchical, names_a_lost_rank_by_its_number_in_the_whole_world) {
  const std::vector<int> hosts = {0, 0, 1, 1};
  const auto outcomes = run_processes(4, [&](const World& world) {
    ::setenv("GRADWIRE_HOST", std::to_string(hosts[world.rank]).c_str(), 1);
    const auto communicator = make_communicator(world, "shm+tcp");
    const Memory memory = communicator->allocate(8 << 20);
    communicator->run(all_reduce(memory.bytes(), DType::f32));
    if (world.rank == 3) ::raise(SIGKILL);
    communicator->run(all_reduce(memory.bytes(), DType::f32));
  });
  for (const Rank rank : {0, 1, 2}) {
    EXPECT_EQ(outcomes[rank].error, "PeerLost") << describe(outcomes[rank]);
    EXPECT_EQ(outcomes[rank].peer, 3) << describe(outcomes[rank]);
  }
}

}  // namespace
}  // namespace gradwire

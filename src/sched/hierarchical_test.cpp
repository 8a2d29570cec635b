#include "sched/algorithms.h"

#include <gtest/gtest.h>

#include <vector>

#include "sched/proof.h"

namespace gradwire {
namespace {

void prove_on(const std::vector<int>& hosts) {
  for (const int cut : {1, 9})
    prove(Collective::all_reduce, static_cast<int>(hosts.size()),
          [&](Rank me) { return hierarchical_all_reduce(me, hosts, cut); });
}

// Ranks in host order: sizes {3, 2} give 0 0 0 1 1.
std::vector<int> hosts_of(const std::vector<int>& sizes) {
  std::vector<int> hosts;
  for (std::size_t host = 0; host < sizes.size(); ++host)
    hosts.insert(hosts.end(), static_cast<std::size_t>(sizes[host]), static_cast<int>(host));
  return hosts;
}

TEST(Hierarchical, reduces_everything_everywhere_for_every_world_on_hosts_of_any_equal_size) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const int size : {1, 3, 8, world}) {
      std::vector<int> hosts;
      for (Rank rank = 0; rank < world; ++rank) hosts.push_back(rank / size);  // the last host may be smaller
      prove_on(hosts);
    }
}

TEST(Hierarchical, reduces_on_hosts_of_different_sizes) {
  for (const auto& sizes : std::vector<std::vector<int>>{
           {3, 2, 1}, {1, 2, 3}, {2, 2, 3}, {5, 1}, {1, 1, 1, 7}, {4, 2, 4, 2}, {8, 3, 5, 3, 8}})
    prove_on(hosts_of(sizes));
}

TEST(Hierarchical, does_not_care_how_ranks_are_spread_or_hosts_numbered) {
  prove_on({0, 1, 0, 1, 0, 1});
  prove_on({7, -2, 7, 100, 100, 7});
  prove_on({2, 1, 0, 0, 1, 2, 1});
}

TEST(Hierarchical, carries_every_byte_across_hosts_once_in_each_direction_between_two_hosts) {
  const std::vector<int> hosts = hosts_of({2, 2});
  int across = 0;
  for (Rank me : {0, 1})
    for (const Step& step : hierarchical_all_reduce(me, hosts, 6).program)
      if (step.op == Op::send && hosts[step.peer] != hosts[me]) across += step.src.count;
  EXPECT_EQ(across, hierarchical_all_reduce(0, hosts, 6).shape.chunks[kOut]);
}

}  // namespace
}  // namespace gradwire

#include "launch/inner_ranks.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/deadline.h"
#include "launch/program.h"

namespace gradwire {
namespace {

// A shell with two children that say who they are and wait; it reaps them as mpirun does.
ChildProcess start_two() {
  return start({{"sh", "-c", "INNER=0 sleep 600 & INNER=1 sleep 601 & wait; wait; sleep 600"},
                {{"PATH", "/usr/bin:/bin"}},
                -1,
                -1});
}

// Looks until someone is gone.
std::vector<Rank> look_long(InnerRanks& ranks) {
  const auto deadline = Deadline::after(60);
  std::vector<Rank> gone;
  while (gone.empty() && !deadline.passed()) gone = ranks.look();
  return gone;
}

TEST(InnerRanks, are_gone_when_their_process_is) {
  const ChildProcess shell = start_two();
  InnerRanks ranks(shell.pid(), "INNER");
  const auto deadline = Deadline::after(60);
  while (ranks.processes().size() < 2 && !deadline.passed()) EXPECT_TRUE(ranks.look().empty());
  ASSERT_EQ(ranks.processes().size(), 2u);
  for (const auto& [process, rank] : ranks.processes())
    if (rank == 1) ::kill(process, SIGKILL);
  EXPECT_EQ(look_long(ranks), std::vector<Rank>{1});
  EXPECT_EQ(ranks.processes().size(), 1u);
  EXPECT_TRUE(ranks.look().empty()) << "each is told of once";
}

TEST(InnerRanks, are_none_where_nobody_is) { EXPECT_TRUE(InnerRanks(-1, "INNER").look().empty()); }

}  // namespace
}  // namespace gradwire

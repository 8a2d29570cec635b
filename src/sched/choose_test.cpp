#include "sched/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "sched/layout.h"
#include "sched/proof.h"

namespace gradwire {
namespace {

Algorithm chosen(Collective kind, int world, Bytes bytes, std::span<const int> hosts = {}) {
  return choose({.kind = kind, .world = world, .bytes = bytes, .hosts = hosts}).algorithm;
}

TEST(Choose, gives_a_provable_program_for_every_collective_world_and_size) {
  for (int kind = 0; kind < kScheduled; ++kind)
    for (const int world : {1, 2, 3, 4, 7, 8, 9, 16, 33})
      for (const Bytes bytes : {0u, 4u, 1000u, 65536u, 1u << 20, 5u << 20}) {
        const Problem problem{
            .kind = static_cast<Collective>(kind), .world = world, .bytes = bytes, .root = world - 1};
        const Choice choice = choose(problem);
        prove(
            problem.kind, world, [&](Rank me) { return make_part(choice, problem, me); }, problem.root);
      }
}

TEST(Choose, can_make_every_algorithm_of_every_collective) {
  for (int kind = 0; kind < kScheduled; ++kind)
    for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
      const Problem problem{.kind = static_cast<Collective>(kind), .world = 5, .bytes = 3 << 20};
      if (!can(static_cast<Algorithm>(algorithm), problem.kind)) continue;
      const Choice choice = choose(problem, static_cast<Algorithm>(algorithm));
      prove(problem.kind, 5, [&](Rank me) { return make_part(choice, problem, me); });
    }
}

TEST(Choose, takes_few_messages_for_little_data_and_busy_links_for_much) {
  EXPECT_EQ(chosen(Collective::all_reduce, 2, 4), Algorithm::exchange);
  EXPECT_EQ(chosen(Collective::all_reduce, 2, 64 << 20), Algorithm::ring);
  EXPECT_EQ(chosen(Collective::all_reduce, 8, 100 << 10), Algorithm::halving_doubling);
  EXPECT_EQ(chosen(Collective::all_reduce, 7, 100 << 10), Algorithm::direct);
  EXPECT_EQ(chosen(Collective::all_reduce, 128, 1500), Algorithm::binomial);
  EXPECT_EQ(chosen(Collective::all_reduce, 32, 64 << 10), Algorithm::halving_doubling);
  EXPECT_EQ(chosen(Collective::all_reduce, 32, 1 << 20), Algorithm::double_tree);
  EXPECT_EQ(chosen(Collective::broadcast, 8, 1 << 10), Algorithm::binomial);
  EXPECT_EQ(chosen(Collective::broadcast, 8, 64 << 20), Algorithm::chain);
}

TEST(Choose, reduces_inside_hosts_first_when_several_have_more_than_one_rank) {
  constexpr int kTwoByTwo[] = {0, 0, 1, 1}, kAlone[] = {0, 1, 2, 3}, kOneHost[] = {0, 0, 0, 0};
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 64 << 20, kTwoByTwo), Algorithm::hierarchical);
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 64 << 20, kAlone), Algorithm::ring);
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 64 << 20, kOneHost), Algorithm::ring);
}

TEST(Choose, cuts_large_data_into_chunks_of_a_few_hundred_kilobytes_and_few_different_counts) {
  std::set<int> cuts;
  for (Bytes bytes = 4 << 20; bytes <= (Bytes{4} << 30); bytes += bytes / 7) {
    const Problem problem{.world = 4, .bytes = bytes};
    const Choice choice = choose(problem);
    const Bytes chunk = Layout(make_part(choice, problem, 0).shape, bytes, 1).bytes(out(1));
    EXPECT_LE(chunk, 260u << 10) << bytes;
    EXPECT_GE(chunk, 128u << 10) << bytes;
    cuts.insert(choice.cut);
  }
  EXPECT_LE(cuts.size(), 24u);
}

TEST(Choose, says_what_can_do_a_collective_when_the_algorithm_asked_for_cannot) {
  try {
    choose({.kind = Collective::broadcast, .world = 2}, Algorithm::ring);
    FAIL() << "a ring does not broadcast";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "ring can't do broadcast, which binomial, chain can");
  }
}

}  // namespace
}  // namespace gradwire

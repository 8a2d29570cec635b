#include "sched/algorithms.h"

#include <gtest/gtest.h>

#include <vector>

#include "sched/proof.h"

namespace gradwire {
namespace {

constexpr int kTreeCuts[] = {1, 2, 7};

std::vector<Rank> roots_of(int world) { return {0, world / 2, world - 1}; }

TEST(BinomialTree, reduces_everything_everywhere_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const int cut : kTreeCuts)
      prove(Collective::all_reduce, world, [&](Rank me) { return binomial_all_reduce(me, world, cut); });
}

TEST(BinomialTree, broadcasts_from_any_root) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const Rank root : roots_of(world))
      for (const int cut : kTreeCuts)
        prove(
            Collective::broadcast, world, [&](Rank me) { return binomial_broadcast(me, world, root, cut); },
            root);
}

TEST(BinomialTree, reduces_to_any_root_and_leaves_the_others_their_data) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const Rank root : roots_of(world))
      for (const int cut : kTreeCuts)
        prove(
            Collective::reduce, world, [&](Rank me) { return binomial_reduce(me, world, root, cut); }, root);
}

TEST(Chain, broadcasts_from_any_root) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const Rank root : roots_of(world))
      for (const int cut : kTreeCuts)
        prove(
            Collective::broadcast, world, [&](Rank me) { return chain_broadcast(me, world, root, cut); },
            root);
}

TEST(Chain, reduces_to_any_root_and_leaves_the_others_their_data) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const Rank root : roots_of(world))
      for (const int cut : kTreeCuts)
        prove(
            Collective::reduce, world, [&](Rank me) { return chain_reduce(me, world, root, cut); }, root);
}

TEST(DoubleTree, reduces_everything_everywhere_for_every_world) {
  for (int world = 1; world <= kLargestWorld; ++world)
    for (const int cut : {1, 2, 3, 4, 8, 13})
      prove(Collective::all_reduce, world, [&](Rank me) { return double_tree_all_reduce(me, world, cut); });
}

// What a rank sends in one piece of each tree: to its parent and to each child. Twice the data in all is the
// least; one tree alone would make a rank in the middle send three times and a leaf once.
TEST(DoubleTree, gives_no_rank_more_than_four_messages_for_two_pieces) {
  for (int world = 2; world <= kLargestWorld; ++world)
    for (Rank me = 0; me < world; ++me) {
      int sent = 0;
      for (const Step& step : double_tree_all_reduce(me, world, 2).program) sent += step.op == Op::send;
      EXPECT_LE(sent, 4) << "rank " << me << " of " << world;
    }
}

}  // namespace
}  // namespace gradwire

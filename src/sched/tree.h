// Trees: sums climb to the root, results descend from it. Log n messages in a row (for a chain n), each with
// all the data, cut into pieces that follow each other like a ring's.
//
// A binomial tree has the fewest rounds: the choice for small data. A chain keeps every link busy with one
// copy of the data: the choice to broadcast or reduce much. A pair of binary trees, mirror images so that a
// rank that works in one is a leaf in the other, each with half of the pieces, has few rounds and busy links.
#pragma once

#include "sched/program.h"

namespace gradwire {

Part binomial_all_reduce(Rank me, int world, int cut = 1);
Part binomial_broadcast(Rank me, int world, Rank root, int cut = 1);
Part binomial_reduce(Rank me, int world, Rank root, int cut = 1);

Part chain_broadcast(Rank me, int world, Rank root, int cut = 1);
Part chain_reduce(Rank me, int world, Rank root, int cut = 1);

Part double_tree_all_reduce(Rank me, int world, int cut = 2);

}  // namespace gradwire

// The algorithms of collectives: pure functions that give rank `me` of `world` its part of one. A family each:
// rings, trees, direct, halving, two levels. choose.h says which is for what, docs/algorithms.md why.
#pragma once

#include <algorithm>
#include <span>

#include "sched/program.h"

namespace gradwire {

// Pipelining, the same in all algorithms: data is cut into pieces that pass through one after the other, and
// kPiecesInFlight of them are under way at a time, so that a link has one to carry while another is added up.
// More would only need more scratch memory, and find less of it in the caches.
inline constexpr int kPiecesInFlight = 4;

inline int in_flight(int cut) { return std::min(cut, kPiecesInFlight); }

// Calls visit(first, count) for pieces 0..cut-1 in blocks of those in flight together.
template <typename F>
void for_each_block(int cut, F visit) {
  for (int first = 0; first < cut; first += kPiecesInFlight) visit(first, in_flight(cut - first));
}

// Rings: every rank sends to the next and receives from the one before. All links carry the same bytes, and
// no algorithm moves fewer, so a ring is the choice for large data. With `cut` above 1, so many pieces go round, each
// of one chunk for each rank.
Part ring_all_reduce(Rank me, int world, int cut = 1);
Part ring_reduce_scatter(Rank me, int world, int cut = 1);
Part ring_all_gather(Rank me, int world, int cut = 1);

// For algorithms that have rings in them: some ranks in a circle, of which I am the one at `me`.
struct Circle {
  std::span<const Rank> ranks;
  int me = 0;

  int size() const { return static_cast<int>(ranks.size()); }
  int back(int steps) const { return ((me - steps) % size() + size()) % size(); }
  Rank next() const { return ranks[back(-1)]; }
  Rank previous() const { return ranks[back(1)]; }
};

// Pieces that take turns: piece k has its chunks from first + k * stride on, and the place slot + k in
// scratch.
struct Pieces {
  int first = 0, stride = 0, count = 1, slot = 0;
};

void append_ring_all_reduce(Program& program, const Circle& circle, const Pieces& pieces);

// Trees: sums climb to the root, results descend from it. Log n messages in a row (for a chain n), each with
// all the data, cut into pieces that follow each other like a ring's.
//
// A binomial tree has the fewest rounds: the choice for small data. A chain keeps every link busy with one
// copy of the data: the choice to broadcast or reduce much. A pair of binary trees, mirror images so that a
// rank that works in one is a leaf in the other, each with half of the pieces, has few rounds and busy links.
Part binomial_all_reduce(Rank me, int world, int cut = 1);
Part binomial_broadcast(Rank me, int world, Rank root, int cut = 1);
Part binomial_reduce(Rank me, int world, Rank root, int cut = 1);

Part chain_broadcast(Rank me, int world, Rank root, int cut = 1);
Part chain_reduce(Rank me, int world, Rank root, int cut = 1);

Part double_tree_all_reduce(Rank me, int world, int cut = 2);

// Direct algorithms: everybody sends to everybody, at once. One or two messages in a row whatever the world
// size, and n - 1 for every rank to send at a time: the choice for small worlds and small data.

// Everybody gets everybody's whole data and adds it up in rank order, the same on all.
Part exchange_all_reduce(Rank me, int world, int cut = 1);

// Rank c gets everybody's chunk c, and everybody gets the sum from it.
Part direct_all_reduce(Rank me, int world);

Part direct_reduce_scatter(Rank me, int world);
Part direct_all_gather(Rank me, int world);
Part direct_all_to_all(Rank me, int world);

// Not everybody with everybody: in round s a rank tells the one 2^s further on that it, and all it has heard
// of, are there. Log n rounds of messages without bytes.
Part dissemination_barrier(Rank me, int world);

// Recursive halving and doubling: partners at distance n/2, n/4, ..., 1 exchange halves of what they still
// have to add up, then go the same way back and exchange what is complete. 2 log n messages in a row instead
// of a ring's 2 (n - 1), with the same bytes: the choice for data too small to keep a ring busy.

// Any world size: where it is not a power of two, the ranks beyond hand their data to a neighbour first and
// get the result from it last.
Part halving_doubling_all_reduce(Rank me, int world);

// Two levels: inside each host, then across hosts, where links are slow and every byte should pass once.

// hosts[r] is the host of rank r; any numbers, hosts of any sizes. As many ranks of every host as the
// smallest has, its rails, each own a part of the data: they collect it from their host, form a ring with the
// same rail of the other hosts, and hand the result to their host.
Part hierarchical_all_reduce(Rank me, std::span<const int> hosts, int cut = 1);

}  // namespace gradwire

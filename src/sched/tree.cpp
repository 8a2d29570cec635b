#include "sched/algorithms.h"

#include <algorithm>

namespace gradwire {
namespace {

constexpr Rank kNone = -1;

// One rank's place in a tree.
struct Node {
  Rank parent = kNone;
  std::vector<Rank> children;
};

// A tree is a function that tells a rank's parent; `parent` is one for a tree whose root is 0, turned here so
// that `root` is.
template <typename F>
Node node_of(Rank me, int world, Rank root, F parent) {
  const auto turned = [&](Rank rank) {
    const Rank above = parent((rank - root + world) % world);
    return above == kNone ? kNone : (above + root) % world;
  };
  Node node{.parent = turned(me), .children = {}};
  for (Rank rank = 0; rank < world; ++rank)
    if (turned(rank) == me) node.children.push_back(rank);
  return node;
}

Rank binomial_parent(Rank rank) { return rank == 0 ? kNone : rank & (rank - 1); }
Rank chain_parent(Rank rank) { return rank - 1; }

// Ranks in order from left to right: the odd ones are leaves, rank 2^i * odd stands i levels above them. The
// parent is the next multiple of twice that, to the right or, past the end of the world, to the left.
Rank binary_parent(Rank rank, int world) {
  if (rank == 0) return kNone;
  const int level = rank & -rank;
  const Rank above = (rank ^ level) | level << 1;
  return above < world ? above : rank ^ level;
}

// The mirror image swaps odd and even when the world is even; when it is odd, a shift by one does.
Node other_binary_node(Rank me, int world) {
  if (world % 2 == 1) return node_of(me, world, 1 % world, [=](Rank r) { return binary_parent(r, world); });
  Node node = node_of(world - 1 - me, world, 0, [=](Rank r) { return binary_parent(r, world); });
  if (node.parent != kNone) node.parent = world - 1 - node.parent;
  for (Rank& child : node.children) child = world - 1 - child;
  return node;
}

// The children's sums are added up in scratch, from place `slot` on, and sent on; only the root's land in
// `out`. So everyone but the root keeps its input until the result comes down.
void append_climb(Program& program, const Node& node, int piece, int slot) {
  const Slice mine = out(piece), sum = scratch(slot, piece);
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const Slice arriving = scratch(slot + static_cast<int>(i), piece);
    program.push_back(Step::recv(node.children[i], arriving));
    if (node.parent == kNone)
      program.push_back(Step::reduce(mine, arriving, i + 1 == node.children.size()));
    else
      program.push_back(Step::reduce(sum, i == 0 ? mine : arriving));
  }
  if (node.parent != kNone) program.push_back(Step::send(node.parent, node.children.empty() ? mine : sum));
}

void append_descent(Program& program, const Node& node, int piece) {
  if (node.parent != kNone) program.push_back(Step::recv(node.parent, out(piece)));
  for (const Rank child : node.children) program.push_back(Step::send(child, out(piece)));
}

// Each of the pieces in flight has its own places in scratch, one for each child.
Part empty_part(Rank me, int cut, std::size_t children) {
  const int slots = in_flight(cut) * static_cast<int>(children);
  return {.rank = me, .shape = {{cut, 0, slots}}};
}

int slot_of(int piece, const Node& node) {
  return piece % kPiecesInFlight * static_cast<int>(node.children.size());
}

Part broadcast_on(Rank me, const Node& node, int cut) {
  Part part = empty_part(me, cut, 0);
  for (int piece = 0; piece < cut; ++piece) append_descent(part.program, node, piece);
  return part;
}

Part reduce_on(Rank me, const Node& node, int cut) {
  Part part = empty_part(me, cut, node.children.size());
  for (int piece = 0; piece < cut; ++piece) append_climb(part.program, node, piece, slot_of(piece, node));
  return part;
}

}  // namespace

Part binomial_broadcast(Rank me, int world, Rank root, int cut) {
  return broadcast_on(me, node_of(me, world, root, binomial_parent), cut);
}

Part binomial_reduce(Rank me, int world, Rank root, int cut) {
  return reduce_on(me, node_of(me, world, root, binomial_parent), cut);
}

Part chain_broadcast(Rank me, int world, Rank root, int cut) {
  return broadcast_on(me, node_of(me, world, root, chain_parent), cut);
}

Part chain_reduce(Rank me, int world, Rank root, int cut) {
  return reduce_on(me, node_of(me, world, root, chain_parent), cut);
}

Part binomial_all_reduce(Rank me, int world, int cut) {
  const Node node = node_of(me, world, 0, binomial_parent);
  Part part = reduce_on(me, node, cut);
  for (int piece = 0; piece < cut; ++piece) append_descent(part.program, node, piece);
  return part;
}

// Two ranks may be neighbours in both trees, with pieces of one climbing where those of the other descend,
// and messages keep their order. So a piece descends only after those in flight behind it have climbed.
Part double_tree_all_reduce(Rank me, int world, int cut) {
  const Node nodes[2] = {node_of(me, world, 0, [=](Rank r) { return binary_parent(r, world); }),
                         other_binary_node(me, world)};
  Part part = empty_part(me, cut, std::max(nodes[0].children.size(), nodes[1].children.size()));
  const int slots = part.shape.chunks[kScratch] / in_flight(cut);
  for (int piece = 0; piece < cut + kPiecesInFlight; ++piece) {
    const int down = piece - kPiecesInFlight;
    if (piece < cut) append_climb(part.program, nodes[piece % 2], piece, piece % kPiecesInFlight * slots);
    if (down >= 0) append_descent(part.program, nodes[down % 2], down);
  }
  return part;
}

}  // namespace gradwire

#include "sched/algorithms.h"

#include <numeric>

namespace gradwire {
namespace {

std::vector<Rank> all_ranks(int world) {
  std::vector<Rank> ranks(static_cast<std::size_t>(world));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

// In round s, chunk me-s leaves and chunk me-s-1 arrives. For n-1 rounds what arrives is added to what is
// here, after which chunk me+1 is complete; for n-1 more, complete chunks go round and take the place of
// mine.
void append_ring_all_reduce(Program& program, const Circle& circle, const Pieces& pieces) {
  const int rounds = circle.size() - 1;
  const auto chunk = [&](int piece, int back) {
    return pieces.first + piece * pieces.stride + circle.back(back);
  };
  for (int s = 0; s < rounds; ++s)
    for (int k = 0; k < pieces.count; ++k) {
      const int arriving = chunk(k, s + 1);
      const Slice slot = scratch(pieces.slot + k, arriving);
      program.push_back(Step::send(circle.next(), out(chunk(k, s))));
      program.push_back(Step::recv(circle.previous(), slot));
      program.push_back(Step::reduce(out(arriving), slot, s == rounds - 1));
    }
  for (int s = 0; s < rounds; ++s)
    for (int k = 0; k < pieces.count; ++k) {
      program.push_back(Step::send(circle.next(), out(chunk(k, s - 1))));
      program.push_back(Step::recv(circle.previous(), out(chunk(k, s))));
    }
}

Part ring_all_reduce(Rank me, int world, int cut) {
  const std::vector<Rank> ranks = all_ranks(world);
  Part part{.rank = me, .shape = {{world * cut, 0, in_flight(cut)}}};
  for_each_block(cut, [&](int first, int count) {
    append_ring_all_reduce(part.program, {ranks, me}, {first * world, world, count, 0});
  });
  return part;
}

// Chunk c starts at rank c+1 and collects on its way round, in scratch since the input stays as it is. A
// place is free again when the next rank has taken it, so each piece has two.
Part ring_reduce_scatter(Rank me, int world, int cut) {
  Part part{.rank = me, .shape = {{cut, world * cut, 2 * in_flight(cut)}}};
  if (world == 1) part.program.push_back(Step::copy(out(0, cut), in(0, cut)));
  const std::vector<Rank> ranks = all_ranks(world);
  const Circle circle{ranks, me};
  const int rounds = world - 1;
  for_each_block(cut, [&](int first, int count) {
    for (int s = 0; s < rounds; ++s)
      for (int k = 0; k < count; ++k) {
        const auto chunk = [&](int back) { return circle.back(back) * cut + first + k; };
        const auto slot = [&](int round) { return scratch(round % 2 * count + k, chunk(round + 2)); };
        const Slice arriving = s == rounds - 1 ? out(first + k) : slot(s);
        part.program.push_back(Step::send(circle.next(), s == 0 ? in(chunk(1)) : slot(s - 1)));
        part.program.push_back(Step::recv(circle.previous(), arriving));
        part.program.push_back(Step::reduce(arriving, in(chunk(s + 2)), s == rounds - 1));
      }
  });
  return part;
}

Part ring_all_gather(Rank me, int world, int cut) {
  Part part{.rank = me, .shape = {{world * cut, cut, 0}}};
  const std::vector<Rank> ranks = all_ranks(world);
  const Circle circle{ranks, me};
  part.program.push_back(Step::copy(out(me * cut, cut), in(0, cut)));
  for_each_block(cut, [&](int first, int count) {
    for (int s = 0; s < world - 1; ++s)
      for (int k = first; k < first + count; ++k) {
        part.program.push_back(Step::send(circle.next(), s == 0 ? in(k) : out(circle.back(s) * cut + k)));
        part.program.push_back(Step::recv(circle.previous(), out(circle.back(s + 1) * cut + k)));
      }
  });
  return part;
}

}  // namespace gradwire

#include "sched/algorithms.h"

namespace gradwire {
namespace {

// Calls visit(to, from) for the other ranks, each rank beginning with its neighbours, so that they don't all
// send to one at a time.
template <typename F>
void for_each_peer(Rank me, int world, F visit) {
  for (int distance = 1; distance < world; ++distance)
    visit((me + distance) % world, (me - distance + world) % world);
}

}  // namespace

// Rank r's data arrives in slot r. Those of lower ranks are added up there, then mine behind them, then those
// of higher ranks: the order is 0, 1, 2, ... on every rank.
Part exchange_all_reduce(Rank me, int world, int cut) {
  Part part{.rank = me, .shape = {{cut, 0, in_flight(cut) * world}}};
  Program& program = part.program;
  for (int piece = 0; piece < cut; ++piece) {
    const Slice mine = out(piece);
    const auto slot = [&](Rank rank) { return scratch(piece % kPiecesInFlight * world + rank, piece); };
    for_each_peer(me, world, [&](Rank to, Rank from) {
      program.push_back(Step::send(to, mine));
      program.push_back(Step::recv(from, slot(from)));
    });
    for (Rank rank = 1; rank < me; ++rank) program.push_back(Step::reduce(slot(0), slot(rank)));
    if (me > 0) program.push_back(Step::reduce_swapped(mine, slot(0), me == world - 1));
    for (Rank rank = me + 1; rank < world; ++rank)
      program.push_back(Step::reduce(mine, slot(rank), rank == world - 1));
  }
  return part;
}

Part direct_all_reduce(Rank me, int world) {
  Part part{.rank = me, .shape = {{world, 0, world}}};
  Program& program = part.program;
  for_each_peer(me, world, [&](Rank to, Rank from) {
    program.push_back(Step::send(to, out(to)));
    program.push_back(Step::recv(from, scratch(from, me)));
  });
  for_each_peer(me, world, [&](Rank to, Rank from) {
    program.push_back(Step::reduce(out(me), scratch(from, me), to == (me - 1 + world) % world));
  });
  for_each_peer(me, world, [&](Rank to, Rank from) {
    program.push_back(Step::send(to, out(me)));
    program.push_back(Step::recv(from, out(from)));
  });
  return part;
}

// The neighbour's data arrives where the result will be, and the others' are added to it.
Part direct_reduce_scatter(Rank me, int world) {
  Part part{.rank = me, .shape = {{1, world, world}}};
  Program& program = part.program;
  if (world == 1) program.push_back(Step::copy(out(0), in(0)));
  const Rank neighbour = (me - 1 + world) % world, last = (me + 1) % world;
  for_each_peer(me, world, [&](Rank to, Rank from) {
    program.push_back(Step::send(to, in(to)));
    program.push_back(Step::recv(from, from == neighbour ? out(0) : scratch(from, me)));
  });
  for_each_peer(me, world, [&](Rank, Rank from) {
    program.push_back(Step::reduce(out(0), from == neighbour ? in(me) : scratch(from, me), from == last));
  });
  return part;
}

Part direct_all_gather(Rank me, int world) {
  Part part{.rank = me, .shape = {{world, 1, 0}}, .program = {Step::copy(out(me), in(0))}};
  for_each_peer(me, world, [&](Rank to, Rank from) {
    part.program.push_back(Step::send(to, in(0)));
    part.program.push_back(Step::recv(from, out(from)));
  });
  return part;
}

Part direct_all_to_all(Rank me, int world) {
  Part part{.rank = me, .shape = {{world, world, 0}}, .program = {Step::copy(out(me), in(me))}};
  for_each_peer(me, world, [&](Rank to, Rank from) {
    part.program.push_back(Step::send(to, in(to)));
    part.program.push_back(Step::recv(from, out(from)));
  });
  return part;
}

Part dissemination_barrier(Rank me, int world) {
  Part part{.rank = me, .shape = {{1, 0, 0}}};
  for (int distance = 1; distance < world; distance *= 2) {
    const Slice heard = scratch(part.shape.chunks[kScratch]++, 0);
    part.program.push_back(Step::send((me + distance) % world, out(0)));
    part.program.push_back(Step::recv((me - distance + world) % world, heard));
    part.program.push_back(Step::reduce(out(0), heard));
  }
  return part;
}

}  // namespace gradwire

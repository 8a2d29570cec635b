#include "sched/algorithms.h"

#include <bit>

namespace gradwire {
namespace {

// Of n = p + extra ranks, p a power of two, the first 2 * extra form pairs of which the even one takes part
// for both; all others take part for themselves. `place` is a rank's number among those p.
struct Fold {
  int p, extra;
  explicit Fold(int world)
      : p(static_cast<int>(std::bit_floor(static_cast<unsigned>(world)))), extra(world - p) {}
  bool in_pair(Rank rank) const { return rank < 2 * extra; }
  int place(Rank rank) const { return in_pair(rank) ? rank / 2 : rank - extra; }
  Rank rank(int place) const { return place < extra ? 2 * place : place + extra; }
};

void append_halving(Program& program, const Fold& fold, int place, int slot) {
  for (int half = fold.p / 2; half >= 1; half /= 2) {
    const Rank partner = fold.rank(place ^ half);
    const int keep = place & ~(half - 1), give = keep ^ half;
    const Slice arriving = scratch(slot, keep, half);
    program.push_back(Step::send(partner, out(give, half)));
    program.push_back(Step::recv(partner, arriving));
    program.push_back(Step::reduce(out(keep, half), arriving, half == 1));
    slot += half;
  }
}

void append_doubling(Program& program, const Fold& fold, int place) {
  for (int half = 1; half < fold.p; half *= 2) {
    const Rank partner = fold.rank(place ^ half);
    const int mine = place & ~(half - 1);
    program.push_back(Step::send(partner, out(mine, half)));
    program.push_back(Step::recv(partner, out(mine ^ half, half)));
  }
}

}  // namespace

Part halving_doubling_all_reduce(Rank me, int world) {
  const Fold fold(world);
  const Slice all = out(0, fold.p), slot = scratch(0, 0, fold.p);
  Part part{.rank = me, .shape = {{fold.p, 0, 2 * fold.p - 1}}};
  if (fold.in_pair(me) && me % 2 == 1) {
    part.program = {Step::send(me - 1, all), Step::recv(me - 1, all)};
    return part;
  }
  if (fold.in_pair(me)) {
    part.program.push_back(Step::recv(me + 1, slot));
    part.program.push_back(Step::reduce(all, slot));
  }
  append_halving(part.program, fold, fold.place(me), fold.p);
  append_doubling(part.program, fold, fold.place(me));
  if (fold.in_pair(me)) part.program.push_back(Step::send(me + 1, all));
  return part;
}

}  // namespace gradwire

#include "sim/ring_recurrence.h"

#include <algorithm>
#include <vector>

#include "sched/pieces.h"

namespace gradwire {
namespace {

// Of one piece on every rank of the period: when what arrived last was there, and when it was added up.
struct Piece {
  std::vector<Seconds> arrived, reduced;
};

// The state of a ring in the middle of its messages, which every rank sends in one order: round by round,
// piece by piece. `sending` and `receiving` are when a rank started its last send and recv, `carried` when
// hop i (from rank i) was through with its last message, `summed` when a rank was with its last sum.
class Ring {
 public:
  Ring(std::span<const Hop> hops, const RingSteps& steps)
      : hops_(hops),
        steps_(steps),
        sending_(hops.size()),
        receiving_(hops.size()),
        carried_(hops.size()),
        summed_(hops.size()),
        pieces_(kPiecesInFlight, Piece{sending_, sending_}) {}

  // Chunks are added up for world - 1 rounds, then go round complete for as many. A place in scratch is free
  // for the next chunk when the one before it is added up; what is complete has its own place from the start.
  void run_block(int count) {
    const int rounds = steps_.world - 1;
    for (int s = 0; s < rounds; ++s)
      for (int k = 0; k < count; ++k) {
        Piece& piece = pieces_[k];
        if (s > 0) raise(sending_, piece.reduced);
        raise(receiving_, piece.reduced);
        carry(piece);
        add_up(piece);
      }
    for (int s = 0; s < rounds; ++s)
      for (int k = 0; k < count; ++k) {
        raise(sending_, s == 0 ? pieces_[k].reduced : pieces_[k].arrived);
        carry(pieces_[k]);
      }
  }

  Seconds end() const {
    return std::max(*std::ranges::max_element(carried_), *std::ranges::max_element(summed_));
  }

 private:
  static void raise(std::vector<Seconds>& started, const std::vector<Seconds>& needed) {
    for (std::size_t i = 0; i < started.size(); ++i) started[i] = std::max(started[i], needed[i]);
  }

  void carry(Piece& piece) {
    const std::size_t last = hops_.size() - 1;
    for (std::size_t i = 0; i <= last; ++i) {
      const std::size_t to = i == last ? 0 : i + 1;
      const Seconds there = std::max(sending_[i], receiving_[to]) + hops_[i].latency;
      carried_[i] = std::max(there, carried_[i]) + hops_[i].transfer;
      piece.arrived[to] = carried_[i];
    }
  }

  void add_up(Piece& piece) {
    for (std::size_t i = 0; i < hops_.size(); ++i) {
      summed_[i] = std::max(piece.arrived[i], summed_[i]) + steps_.reduce;
      piece.reduced[i] = summed_[i];
    }
  }

  const std::span<const Hop> hops_;
  const RingSteps steps_;
  std::vector<Seconds> sending_, receiving_, carried_, summed_;
  std::vector<Piece> pieces_;
};

}  // namespace

Seconds ring_recurrence(std::span<const Hop> hops, const RingSteps& steps) {
  if (steps.world < 2 || hops.empty()) return 0;
  Ring ring(hops, steps);
  for_each_block(steps.cut, [&](int, int count) { ring.run_block(count); });
  return ring.end();
}

std::size_t period_of(std::span<const Hop> hops) {
  for (std::size_t period = 1; period < hops.size(); ++period)
    if (hops.size() % period == 0 &&
        std::equal(hops.begin() + static_cast<std::ptrdiff_t>(period), hops.end(), hops.begin()))
      return period;
  return hops.size();
}

}  // namespace gradwire

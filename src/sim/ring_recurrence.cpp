#include "sim/ring_recurrence.h"

#include <algorithm>
#include <vector>

#include "sched/algorithms.h"

namespace gradwire {
namespace {

using Times = std::vector<Seconds>;  // by rank of the period

// Of one piece: when what arrived last was there, and when it was added up.
struct Piece {
  Times arrived, reduced;
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
        receiving_(sending_),
        carried_(sending_),
        summed_(hops.size(), steps.copy),
        pieces_(kPiecesInFlight, Piece{sending_, sending_}),
        sent_(2 * kPiecesInFlight, sending_) {}

  void run_block(int count) {
    if (steps_.kind == Collective::reduce_scatter) return scatter(count);
    if (steps_.kind == Collective::all_reduce) add_up_in_place(count);
    gather(count);
  }

  Seconds end() const {
    return std::max(*std::ranges::max_element(carried_), *std::ranges::max_element(summed_));
  }

 private:
  int rounds() const { return steps_.world - 1; }

  // A place in scratch is free for the next chunk when the one before it is added up.
  void add_up_in_place(int count) {
    for (int s = 0; s < rounds(); ++s)
      for (Piece& piece : std::span(pieces_).first(count)) {
        if (s > 0) raise(sending_, piece.reduced);
        raise(receiving_, piece.reduced);
        carry(piece);
        add_up(piece);
      }
  }

  // What is complete has its own place from the start. Its first round sends what has just been added up, or,
  // of an all_gather, the input.
  void gather(int count) {
    for (int s = 0; s < rounds(); ++s)
      for (Piece& piece : std::span(pieces_).first(count)) {
        if (s > 0)
          raise(sending_, piece.arrived);
        else if (steps_.kind == Collective::all_reduce)
          raise(sending_, piece.reduced);
        carry(piece);
      }
  }

  // Sums are collected in scratch, in two places for each piece, and a place is free when it has been sent.
  // What arrives last goes to the output.
  void scatter(int count) {
    for (int s = 0; s < rounds(); ++s)
      for (int k = 0; k < count; ++k) {
        Piece& piece = pieces_[k];
        if (s > 0) raise(sending_, piece.reduced);
        if (s < rounds() - 1) raise(receiving_, sent_[s % 2 * count + k]);
        carry(piece);
        if (s > 0) sent_[(s - 1) % 2 * count + k] = carried_;
        add_up(piece);
      }
  }

  static void raise(Times& started, const Times& needed) {
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
  Times sending_, receiving_, carried_, summed_;
  std::vector<Piece> pieces_;
  std::vector<Times> sent_;  // by place in scratch: when what it held was gone
};

}  // namespace

Seconds ring_recurrence(std::span<const Hop> hops, const RingSteps& steps) {
  if (hops.empty()) return 0;
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

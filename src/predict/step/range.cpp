#include "predict/step/range.h"

#include <cmath>
#include <vector>

namespace gradwire {
namespace {

// How far a doubt alone moves the logarithm of the gain: up or down, and which end of it does.
struct Move {
  double by = 0, end = 0;
};

// Doubts that have nothing to do with each other reach their ends together less often than each alone. Of all worlds equally
// likely, the one in which each doubt has gone as far as it matters moves the gain most: the end of the range.
double end_of_range(const GainIn& gain, const std::vector<Move>& moves) {
  double length = 0;
  for (const Move& move : moves) length = std::hypot(length, move.by);
  std::vector<double> shares(moves.size(), 0);
  for (std::size_t i = 0; i < moves.size() && length > 0; ++i)
    shares[i] = moves[i].end * std::abs(moves[i].by) / length;
  return gain(shares);
}

}  // namespace

Effect range_of(std::size_t doubts, const GainIn& gain) {
  std::vector<double> shares(doubts, 0);
  const double speedup = gain(shares);
  std::vector<Move> down(doubts), up(doubts);
  for (std::size_t i = 0; i < doubts; ++i) {
    for (const double end : {-1.0, 1.0}) {
      shares[i] = end;
      const double by = std::log(gain(shares) / speedup);
      if (by < down[i].by) down[i] = {by, end};
      if (by > up[i].by) up[i] = {by, end};
    }
    shares[i] = 0;
  }
  return {speedup, end_of_range(gain, down), end_of_range(gain, up)};
}

}  // namespace gradwire

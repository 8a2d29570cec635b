// Pipelining, the same in all algorithms: data is cut into pieces that pass through one after the other, and
// kPiecesInFlight of them are under way at a time, so that a link has one to carry while another is added up.
// More would only need more scratch memory, and find less of it in the caches.
#pragma once

#include <algorithm>

namespace gradwire {

inline constexpr int kPiecesInFlight = 4;

inline int in_flight(int cut) { return std::min(cut, kPiecesInFlight); }

// Calls visit(first, count) for pieces 0..cut-1 in blocks of those in flight together.
template <typename F>
void for_each_block(int cut, F visit) {
  for (int first = 0; first < cut; first += kPiecesInFlight) visit(first, in_flight(cut - first));
}

}  // namespace gradwire

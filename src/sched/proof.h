// For tests: proves an algorithm for a world.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <vector>

#include "sched/verify.h"

namespace gradwire {

// Every algorithm is proved for worlds of 1 to so many ranks.
inline constexpr int kLargestWorld = 33;

template <typename F>
std::vector<Part> parts_of(int world, F make) {
  std::vector<Part> parts;
  for (Rank rank = 0; rank < world; ++rank) parts.push_back(make(rank));
  return parts;
}

template <typename F>
void prove(Collective kind, int world, F make, Rank root = 0) {
  try {
    verify(kind, parts_of(world, make), root);
  } catch (const std::exception& fault) {
    ADD_FAILURE() << name_of(kind) << " over " << world << " ranks, root " << root << ": " << fault.what();
  }
}

}  // namespace gradwire

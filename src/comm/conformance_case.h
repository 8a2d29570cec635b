// One call as the conformance suite makes it, and what each rank contributes to it. The same on every rank.
// For tests.
#pragma once

#include <cstddef>
#include <string>

#include "base/collective.h"
#include "comm/kernels/reference.h"

namespace gradwire {

struct ConformanceCase {
  Collective kind = Collective::barrier;
  DType dtype = DType::f32;
  Reduction reduction = Reduction::sum;
  std::size_t count = 0;  // elements of a part
  Rank root = 0;
  bool in_place = false, from_backend = false;
  std::size_t misalignment = 0;
  bool random = false;  // float sums that are rounded
};

std::string describe(const ConformanceCase&);
bool has_root(Collective kind);
bool reduces(Collective);
bool is_float(DType);

// What `rank` contributes: bits at random, or for floats that are reduced numbers whose result is exact in
// any order.
Elements pattern(const ConformanceCase&, Rank rank, std::size_t elements);

}  // namespace gradwire

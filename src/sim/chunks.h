// How many bytes the chunks of simulated programs have, the same on every rank. A value.
#pragma once

#include <vector>

#include "sched/program.h"

namespace gradwire {

class Chunks {
 public:
  explicit Chunks(const std::vector<Bytes>& sizes);  // of chunk 0, 1, ... of `out` and `in`
  Bytes bytes(const Slice& slice) const { return begin_[slice.like + slice.count] - begin_[slice.like]; }
  int count() const { return static_cast<int>(begin_.size()) - 1; }

 private:
  std::vector<Bytes> begin_;
};

// As a real collective divides its data (sched/layout.h): `bytes` is what the larger of `in` and `out` holds,
// in elements of four bytes if it can be, else of one.
Chunks divide_evenly(const Shape& shape, Bytes bytes);

// Every chunk the same.
Chunks equal_chunks(int count, Bytes each);

}  // namespace gradwire

// What the steps of simulated programs cost beside the network, and how many bytes they move. Values.
#pragma once

#include <limits>
#include <vector>

#include "base/units.h"
#include "sched/program.h"

namespace gradwire {

// All zero and infinite: the network alone. fit.h finds the numbers of a backend from measurements.
// A rank's sums and copies run one after the other, as they do in the one thread of a real collective; its
// messages and its computing go on beside them.
struct CostModel {
  Seconds per_step = 0;     // of every sum and copy, beside its bytes
  Seconds per_message = 0;  // so long a message holds its way before its first byte moves
  double reduce_bytes_per_s = std::numeric_limits<double>::infinity();
  double copy_bytes_per_s = std::numeric_limits<double>::infinity();
  double efficiency = 1;  // the part of a pipe's rate that a protocol leaves for data
  bool operator==(const CostModel&) const = default;

  Seconds reduce(Bytes bytes) const { return per_step + static_cast<double>(bytes) / reduce_bytes_per_s; }
  Seconds copy(Bytes bytes) const { return per_step + static_cast<double>(bytes) / copy_bytes_per_s; }
};

void check_cost(const CostModel& cost);  // throws ConfigError naming what is negative or no number

// How many bytes the chunks of simulated programs have, the same on every rank.
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

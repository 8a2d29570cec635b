// What the steps of simulated programs cost beside the network. A value.
#pragma once

#include <limits>

#include "base/units.h"

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

}  // namespace gradwire

// What an all-reduce costs between processes on hosts with Gloo, MPI or our own TCP transport: a ring whose
// 2(n-1) steps each cost a fixed time, at the rate of the slower of the network card and of what a host's
// software passes on. Two constants a backend, from measurements on one machine (docs/performance.md) or from
// the user's own `gradwire bench
// --json`. Simple on purpose: a first idea of what GPUs without NCCL would see, not a calibrated model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "topo/machine.h"

namespace gradwire {

struct BackendCost {
  std::string name;
  Seconds step = 0;             // of a ring, besides its bytes
  double host_bytes_per_s = 0;  // what one process sends while it receives as much
  std::string source;
};

std::vector<BackendCost> all_backend_costs();
BackendCost find_backend_cost(std::string_view name);  // "gloo", "tcp", "mpi"; throws ConfigError

// From the JSON of `gradwire bench all_reduce`: the smallest buffer gives the step, the largest the rate.
BackendCost backend_cost_from_bench(std::string_view json, std::string_view name, std::string_view where);

struct BackendEstimate {
  Seconds time = 0;
  bool network_bound = false;  // the card, not the software, sets the rate
};
BackendEstimate backend_all_reduce(const BackendCost&, const Machine&, Bytes);

}  // namespace gradwire

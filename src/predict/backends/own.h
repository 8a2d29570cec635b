// All-reduce of our own backends (is_own()) between processes on a machine's hosts, one process for
// each GPU, with buffers in host memory. tcp runs the programs that it would run there (sched/choose.h), in
// simulated time (src/sim): each process passes on what its software can, the processes of a node share its
// network card. shm+tcp runs the lanes of comm/hierarchical likewise, piece by piece. shm is no program: it
// is a measured curve, bounded by the host's memory. Values and pure functions.
#pragma once

#include <string_view>

#include "predict/backends/backends.h"
#include "sim/cost.h"
#include "sim/curve.h"

namespace gradwire {

// What our processes cost on a host: fitted to sweeps between 2 ranks of one host.
struct OwnCosts {
  double process_bytes_per_s = 0;  // of one process over TCP, each way at once
  CostModel cost;                  // of messages and sums
  double tcp_error = 0;            // mean, of the sweep that these were fitted to
  Curve shm;                       // an all-reduce through shared memory
};

OwnCosts default_own_costs();  // of 2 ranks on one host of 2 virtual cores (docs/performance.md)

// Fitted to the JSON of `gradwire bench all_reduce -n 2 --backend shm,tcp`. Throws ConfigError.
OwnCosts own_costs_from_bench(std::string_view json);

// Throws ConfigError for over 1024 ranks, and for shm on several nodes.
BackendEstimate own_all_reduce(Backend, const OwnCosts&, const Machine&, Bytes);

}  // namespace gradwire

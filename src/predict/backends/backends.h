// Who may join gradients in a prediction, and what an all-reduce costs between processes on hosts with Gloo or MPI, whose
// programs are not ours: a ring whose 2(n-1) steps each cost a fixed time, at the rate of the slower of the network card and of what a
// host's software passes on. Two constants a backend, from measurements on one machine (docs/performance.md)
// or from the user's own `gradwire bench --json`. Simple on purpose: a first idea of what GPUs without NCCL
// would see, not a calibrated model. Our own backends are in own.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"
#include "topo/machine.h"

namespace gradwire {

enum class Backend : std::uint8_t { nccl, gloo, mpi, shm, tcp, shm_tcp };

constexpr bool is_own(Backend backend) { return backend >= Backend::shm; }
std::string to_string(Backend);           // as users write it: "shm+tcp"
Backend parse_backend(std::string_view);  // throws ConfigError naming those that have a model

struct BackendCost {
  Seconds step = 0;             // of a ring, besides its bytes
  double host_bytes_per_s = 0;  // what one process sends while it receives as much
};

BackendCost default_backend_cost(Backend);  // of gloo or mpi

// From the JSON of `gradwire bench all_reduce`: the smallest buffer gives the step, the largest the rate.
BackendCost backend_cost_from_bench(std::string_view json, Backend, std::string_view where);

struct BackendEstimate {
  Seconds time = 0;
  bool network_bound = false;  // the card, not the software, sets the rate
  std::string algorithm = "ring";
  double relative_error = 0;  // to expect
};

// What a guess is worth where software sets the rate: constants from one machine with 2 virtual cores, half
// to twice. Where the card does, three measurements over a shaped link agree to 5 % (docs/performance.md).
constexpr double kSoftwareError = 0.5, kCardError = 0.1;

double card_rate(
    const Machine&);  // bytes/s that TCP sockets carry over one card of a node; several nodes alone

BackendEstimate backend_all_reduce(const BackendCost&, const Machine&, Bytes);

}  // namespace gradwire

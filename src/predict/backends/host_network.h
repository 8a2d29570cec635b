// The hosts of a machine as our TCP programs see them, and those programs in simulated time. Every process
// has a pipe out and a pipe in at the rate that its software passes on; the processes of a node share the
// node's network card. Pure functions.
#pragma once

#include <limits>
#include <string>

#include "sim/cost.h"
#include "topo/machine.h"

namespace gradwire {

struct HostRates {
  double process_bytes_per_s = 0;
  double card_bytes_per_s = std::numeric_limits<double>::infinity();  // of a node, each way
  Seconds card_latency = 0;                                           // one way, card to card
};
HostRates host_rates(const Machine&, double process_bytes_per_s);

// Of the first node: bytes/s that its memories write while they read as many.
double memory_rate(const Machine&);

struct ProgramTime {
  Seconds time = 0;
  std::string algorithm;
  bool card_bound = false;  // a card twice as fast would help by over a tenth
};

// An all-reduce of so many bytes in each of several lanes at once: lane k joins the k-th process of every
// host.
struct HostLanes {
  int lanes = 1, hosts = 2;
  Bytes bytes = 0;
};
ProgramTime lane_time(const HostLanes&, const HostRates&, const CostModel&);

// One all-reduce of all processes of the machine.
ProgramTime world_time(const Machine&, Bytes, const HostRates&, const CostModel&);

}  // namespace gradwire

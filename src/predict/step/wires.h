// What a step needs to know of the machine's communication: what a collective costs, and which way data goes.
// Made from a Machine and the NCCL model by wires_of(); tests write their own.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/units.h"
#include "predict/backends/backends.h"
#include "predict/nccl/all_reduce.h"
#include "topo/network.h"

namespace gradwire {

struct Wires {
  int ranks = 1, nodes = 1;
  bool through_host = false;  // inside a node data goes through host memory, on the way that NCCL takes
  double host_share = 1;      // of a collective's time, that it then does: what is left waits for the network
  double staged_share = 0;    // of the hops of a ring over one node, those between GPUs without peer access
  int sockets = 1;            // whose memories share that load
  std::function<Seconds(Bytes)> all_reduce;
  // What of a rank's computing it takes, where ranks compute on the processor that also moves the bytes; else
  // empty.
  std::function<Seconds(Bytes)> processor = {};
  double relative_error = 0;                // of all_reduce: half the width of the range that holds 80 %
  NcclDoubt doubt;                          // of NCCL's all_reduce: what machines share of that
  std::optional<NetworkSpec> network = {};  // between nodes, where there are several
  Backend backend = Backend::nccl;
  std::optional<Way> way = {};  // none: one rank, or links without limits
  // Where NVLink joins some of a node's GPUs and a ring of all has to leave it: so many at most, of so many; else 0.
  int nvlinked = 0, ranks_per_node = 0;
  std::string algorithm;  // for people
  Narrowest narrowest = {};
  std::vector<ResourceLoad> loads;  // inside a node, narrowest first
};

// Data goes the same way over both.
bool go_alike(const Wires& a, const Wires& b);

// What constants leave open is the same of both: they go alike, or the same network is between the nodes.
bool err_alike(const Wires& a, const Wires& b);

// Standard deviation of log(collective over a / collective over b). What a constant of the NCCL model does to both cancels as
// far as both answer to it alike; what constants leave open cancels where they err alike, else it is each machine's own.
double ratio_spread(const Wires& a, const Wires& b);

// The same of the steps of two runs that differ in their wires alone, whatever those are: what runs vary by, and what the step
// model leaves open. Found so that eight of ten ratios that were measured lie inside (presets/measured/training.jsonl).
inline constexpr double kSpreadOfRatio = 0.03;

// Bytes over the bandwidth of the narrowest link, times 2(n-1)/n: the model everybody has in mind.
std::function<Seconds(Bytes)> alpha_beta(int ranks, double bytes_per_s, Seconds latency);

}  // namespace gradwire

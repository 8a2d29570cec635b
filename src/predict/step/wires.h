// What a step needs to know of the machine's communication: what a collective costs, and which way data goes.
// Made from a Machine and the NCCL model by wires_of(); tests write their own.
#pragma once

#include <functional>
#include <string>

#include "base/units.h"
#include "predict/nccl/all_reduce.h"

namespace gradwire {

struct Wires {
  int ranks = 1, nodes = 1;
  bool through_host = false;  // one node whose GPUs reach each other through host memory
  double staged_share = 1;    // of the hops of a ring over one node, those through host memory
  int sockets = 1;            // whose memories share that load
  std::function<Seconds(Bytes)> all_reduce;
  // What of a rank's computing it takes, where ranks compute on the processor that also moves the bytes; else
  // empty.
  std::function<Seconds(Bytes)> processor = {};
  double relative_error = 0;  // of all_reduce: half the width of the range that holds 80 %
  NcclDoubt doubt;            // of NCCL's all_reduce: what machines share of that
  // For people.
  std::string algorithm, path, narrowest_link;
  std::string way = "without limits";  // the path in a sentence: "over NVLink", "through host memory"
  std::vector<ResourceLoad> loads;     // inside a node, narrowest first
};

// Standard deviation of log(step of a / step of b), two steps of the same computing on different wires, given
// how the logarithm of each step answers to its wires'. What a constant of the NCCL model does to both cancels
// as far as both answer to it alike; what constants leave open is the host's where data goes the same way, else
// each machine's own.
double ratio_spread(const Wires& a, double answer_a, const Wires& b, double answer_b);

// The same of two runs of one machine that differ in their wires alone, whatever those are: what runs vary by, and what the step
// model leaves open. Found so that eight of ten ratios that were measured lie inside (presets/measured/training.jsonl).
inline constexpr double kSpreadOfRatio = 0.03;

// Bytes over the bandwidth of the narrowest link, times 2(n-1)/n: the model everybody has in mind.
std::function<Seconds(Bytes)> alpha_beta(int ranks, double bytes_per_s, Seconds latency);

}  // namespace gradwire

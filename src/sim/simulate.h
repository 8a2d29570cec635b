// Programs in simulated time: the same that move real bytes, through the same engine, on a model of a
// machine.
#pragma once

#include <span>

#include "sched/run.h"
#include "sim/model_fabric.h"
#include "sim/network.h"

namespace gradwire {

// `plans` of all ranks, in rank order. Throws ConfigError when ranks talk that have no way to each other,
// Error when programs wait for each other for ever.
Trace simulate(std::span<const Plan> plans, const Chunks& chunks, const Network& network,
               const CostModel& cost = {});

// When the last step ends, and how many messages that took; keeps no trace.
struct Simulated {
  Seconds time = 0;
  std::uint64_t messages = 0;
};
Simulated simulate_time(std::span<const Plan> plans, const Chunks& chunks, const Network& network,
                        const CostModel& cost = {});

// Every pair of ranks that these programs send between, each once, by sender.
std::vector<Pair> pairs_of(std::span<const Plan> plans);

}  // namespace gradwire

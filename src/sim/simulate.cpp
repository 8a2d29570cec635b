#include "sim/simulate.h"

#include <algorithm>

#include "base/error.h"
#include "sim/model_fabric.h"

namespace gradwire {
namespace {

void check_fit(std::span<const Plan> plans, const Chunks& chunks, const Network& network) {
  if (static_cast<int>(plans.size()) > network.world())
    throw ConfigError(fmt::format("{} ranks to simulate on a network of {}", plans.size(), network.world()));
  for (const Plan& plan : plans) {
    const int needed = std::max(plan.part.shape.chunks[kOut], plan.part.shape.chunks[kIn]);
    if (needed > chunks.count())
      throw ConfigError(fmt::format("rank {} has {} chunks, and sizes are given for {}", plan.part.rank,
                                    needed, chunks.count()));
  }
}

}  // namespace

Trace simulate(std::span<const Plan> plans, const Chunks& chunks, const Network& network,
               const CostModel& cost) {
  check_fit(plans, chunks, network);
  ModelFabric fabric(network, cost, chunks);
  Trace trace{.source = "model", .events = {}};
  Engine().run(plans, fabric, &trace);
  return trace;
}

Simulated simulate_time(std::span<const Plan> plans, const Chunks& chunks, const Network& network,
                        const CostModel& cost) {
  check_fit(plans, chunks, network);
  ModelFabric fabric(network, cost, chunks);
  Engine().run(plans, fabric);
  return {fabric.now(), fabric.messages()};
}

std::vector<Pair> pairs_of(std::span<const Plan> plans) {
  std::vector<Pair> pairs;
  std::vector<Rank> peers;
  for (const Plan& plan : plans) {
    peers.clear();
    for (const Step& step : plan.part.program)
      if (step.op == Op::send && (peers.empty() || peers.back() != step.peer)) peers.push_back(step.peer);
    std::ranges::sort(peers);
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    for (const Rank peer : peers) pairs.push_back({plan.part.rank, peer});
  }
  return pairs;
}

}  // namespace gradwire

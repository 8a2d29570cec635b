#include "predict/backends/host_network.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "predict/backends/backends.h"
#include "sched/choose.h"
#include "sim/pipelined.h"
#include "sim/ring_estimate.h"
#include "sim/simulate.h"

namespace gradwire {
namespace {

// Pipes of ranks and nodes, and ways as they are asked for.
class Hosts {
 public:
  Hosts(std::vector<int> host_of, const HostRates& rates)
      : host_of_(std::move(host_of)), network_(static_cast<int>(host_of_.size())) {
    for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
      out_.push_back(network_.add_pipe({rates.process_bytes_per_s, 0}));
      in_.push_back(network_.add_pipe({rates.process_bytes_per_s, 0}));
    }
    if (!std::isfinite(rates.card_bytes_per_s)) return;
    for (int host = 0; host <= *std::max_element(host_of_.begin(), host_of_.end()); ++host) {
      up_.push_back(network_.add_pipe({rates.card_bytes_per_s, rates.card_latency / 2}));
      down_.push_back(network_.add_pipe({rates.card_bytes_per_s, rates.card_latency / 2}));
    }
  }

  void join(std::span<const Pair> pairs) {
    for (const Pair pair : pairs) {
      const auto from = static_cast<std::size_t>(pair.from), to = static_cast<std::size_t>(pair.to);
      const auto here = static_cast<std::size_t>(host_of_[from]),
                 there = static_cast<std::size_t>(host_of_[to]);
      std::vector<PipeId> route = {out_[from]};
      if (here != there && !up_.empty()) route.insert(route.end(), {up_[here], down_[there]});
      route.push_back(in_[to]);
      network_.add_way(pair, route);
    }
  }

  const Network& network() const { return network_; }

 private:
  std::vector<int> host_of_;
  Network network_;
  std::vector<PipeId> out_, in_, up_, down_;
};

// Several all-reduces side by side, one for each group of ranks; groups are alike.
struct Groups {
  std::vector<std::vector<Rank>> members;  // world ranks, in the order of their ranks in the group
  std::vector<int> host_of;                // of every world rank
};

Part renumbered(Part part, const std::vector<Rank>& members) {
  part.rank = members[static_cast<std::size_t>(part.rank)];
  for (Step& step : part.program)
    if (step.peer >= 0) step.peer = members[static_cast<std::size_t>(step.peer)];
  return part;
}

std::vector<Part> parts_of(const Groups& groups, const Problem& problem, const Choice& choice) {
  std::vector<Part> parts(groups.host_of.size());
  for (const auto& members : groups.members)
    for (Rank me = 0; me < problem.world; ++me) {
      auto part = renumbered(make_part(choice, problem, me), members);
      const auto rank = static_cast<std::size_t>(part.rank);
      parts[rank] = std::move(part);
    }
  return parts;
}

Seconds time_of(const Groups& groups, const Problem& problem, const Choice& choice, const HostRates& rates,
                const CostModel& cost) {
  Hosts hosts(groups.host_of, rates);
  if (choice.algorithm == Algorithm::ring && groups.members.size() == 1) {
    hosts.join(ring_pairs(problem.world));
    return ring_time({.bytes = problem.bytes, .cut = choice.cut}, hosts.network(), cost).time;
  }
  const auto parts = [&](int cut) { return parts_of(groups, problem, {choice.algorithm, cut}); };
  hosts.join(pairs_of(make_plans(parts(std::min(choice.cut, 4)))));  // trees come in pairs
  return pipelined_time({.parts = parts, .cut = choice.cut, .bytes = problem.bytes}, hosts.network(), cost)
      .time;
}

ProgramTime timed(const Groups& groups, const Problem& problem, const HostRates& rates,
                  const CostModel& cost) {
  const auto choice = choose(problem);
  ProgramTime time{time_of(groups, problem, choice, rates, cost), std::string(name_of(choice.algorithm)),
                   false};
  if (!std::isfinite(rates.card_bytes_per_s)) return time;
  auto faster = rates;
  faster.card_bytes_per_s *= 2;
  time.card_bound = time_of(groups, problem, choice, faster, cost) < 0.9 * time.time;
  return time;
}

}  // namespace

HostRates host_rates(const Machine& machine, double process_bytes_per_s) {
  HostRates rates{.process_bytes_per_s = process_bytes_per_s};
  if (machine.nodes == 1) return rates;
  rates.card_bytes_per_s = card_rate(machine);
  rates.card_latency = machine.network->latency.value_or(0);
  return rates;
}

double memory_rate(const Machine& machine) {
  double sum = 0;
  for (const auto& link : machine.topology.links())
    if (machine.topology.device(link.to).kind == DeviceKind::memory) sum += link.rate.bytes_per_s;
  return sum > 0 ? sum / machine.nodes : std::numeric_limits<double>::infinity();
}

ProgramTime lane_time(const HostLanes& lanes, const HostRates& rates, const CostModel& cost) {
  Groups groups;
  groups.members.resize(static_cast<std::size_t>(lanes.lanes));
  for (int host = 0; host < lanes.hosts; ++host)
    for (auto& members : groups.members) {
      members.push_back(static_cast<Rank>(groups.host_of.size()));
      groups.host_of.push_back(host);
    }
  return timed(groups, {.world = lanes.hosts, .bytes = lanes.bytes}, rates, cost);
}

ProgramTime world_time(const Machine& machine, Bytes bytes, const HostRates& rates, const CostModel& cost) {
  const int world = static_cast<int>(machine.gpus.size());
  Groups groups{{{}}, {}};
  for (Rank rank = 0; rank < world; ++rank) {
    groups.members[0].push_back(rank);
    groups.host_of.push_back(rank * machine.nodes / world);
  }
  return timed(groups, {.world = world, .bytes = bytes, .hosts = groups.host_of}, rates, cost);
}

}  // namespace gradwire

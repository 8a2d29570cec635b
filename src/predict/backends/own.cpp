#include "predict/backends/own.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "predict/backends/host_network.h"
#include "sched/choose.h"
#include "sim/fit.h"
#include "sim/sweep.h"

namespace gradwire {
namespace {

constexpr int kMostRanks = 1024;

// docs/performance.md, "All-reduce on one host, 2 ranks", medians.
constexpr std::array<std::pair<Bytes, double>, 7> kTcpMicroseconds = {{{4, 7.90},
                                                                       {1 << 10, 11.30},
                                                                       {64 << 10, 36.61},
                                                                       {1 << 20, 434},
                                                                       {16 << 20, 7257},
                                                                       {64 << 20, 23705},
                                                                       {256 << 20, 114711}}};
constexpr std::array<std::pair<Bytes, double>, 7> kShmMicroseconds = {{{4, 0.14},
                                                                       {1 << 10, 0.34},
                                                                       {64 << 10, 1.28},
                                                                       {1 << 20, 21.73},
                                                                       {16 << 20, 817},
                                                                       {64 << 20, 5019},
                                                                       {256 << 20, 21791}}};

template <std::size_t N>
std::vector<Sample> samples(const std::array<std::pair<Bytes, double>, N>& rows) {
  std::vector<Sample> all;
  for (const auto& [bytes, microseconds] : rows) all.push_back({bytes, microseconds * 1e-6});
  return all;
}

// The rate of a process is fitted as the part of a rate that no process reaches.
constexpr double kFast = 20e9;

OwnCosts fit_costs(std::span<const Sample> tcp, std::span<const Sample> shm) {
  std::vector<Measured> measured;
  for (const auto& sample : tcp)
    measured.push_back({[bytes = sample.bytes](const CostModel& cost) {
                          return lane_time({.lanes = 1, .hosts = 2, .bytes = bytes},
                                           {.process_bytes_per_s = kFast}, cost)
                              .time;
                        },
                        sample.time});
  const auto fitted = fit_cost(measured, {.per_message = 5e-6, .efficiency = 0.15});
  auto cost = fitted.cost;
  const double rate = kFast * cost.efficiency;
  cost.efficiency = 1;
  return {rate, cost, fitted.error.mean, fit_curve(shm)};
}

// Each process reads and writes as many bytes as with 2 ranks, from buffers of all; beyond that, the memories
// of the node carry 2 n times the buffer. Waits for others grow with their number.
Seconds shm_time(const OwnCosts& costs, const Machine& machine, int ranks, Bytes bytes) {
  if (ranks < 2) return 0;
  const auto alone = costs.shm.at(bytes) + (ranks - 2) * costs.shm.at(4);
  return std::max(alone, ranks * double(bytes) / memory_rate(machine));
}

// Two pieces are under way: while one crosses the network, the next is combined inside the hosts.
Seconds pieces_time(Seconds inside, Seconds crossing, Bytes count) {
  Seconds now = 0, before = 0;  // when the process is free, when the piece before has crossed
  for (Bytes piece = 0; piece <= count; ++piece) {
    Seconds crossed = before;
    if (piece < count) {
      now += inside / 2;
      crossed = std::max(now, before) + crossing;
    }
    if (piece > 0) now = std::max(now, before) + inside / 2;
    before = crossed;
  }
  return now;
}

BackendEstimate made(Seconds time, bool network_bound, std::string algorithm) {
  return {time, network_bound, std::move(algorithm), network_bound ? kCardError : kSoftwareError};
}

BackendEstimate hierarchical(const OwnCosts& costs, const Machine& machine, Bytes bytes) {
  const int inside = static_cast<int>(machine.gpus.size()) / machine.nodes;
  const auto rates = host_rates(machine, costs.process_bytes_per_s);
  const bool small = bytes <= kByLeaders;
  const Bytes piece = std::min(bytes, kLanePiece),
              count = std::max<Bytes>(1, (bytes + kLanePiece - 1) / kLanePiece);
  const HostLanes lanes{.lanes = small ? 1 : inside,
                        .hosts = machine.nodes,
                        .bytes = small ? piece : std::max<Bytes>(1, piece / static_cast<Bytes>(inside))};
  const auto crossing = lane_time(lanes, rates, costs.cost);
  const auto local = shm_time(costs, machine, inside, piece);
  return made(small ? local + crossing.time : pieces_time(local, crossing.time, count),
              crossing.card_bound && crossing.time > local, crossing.algorithm);
}

}  // namespace

OwnCosts default_own_costs() { return fit_costs(samples(kTcpMicroseconds), samples(kShmMicroseconds)); }

OwnCosts own_costs_from_bench(std::string_view json) {
  const auto sweeps = read_sweeps(json);
  return fit_costs(sweep_of(sweeps, "tcp", Collective::all_reduce, 2).samples,
                   sweep_of(sweeps, "shm", Collective::all_reduce, 2).samples);
}

BackendEstimate own_all_reduce(Backend backend, const OwnCosts& costs, const Machine& machine, Bytes bytes) {
  const int ranks = static_cast<int>(machine.gpus.size());
  if (ranks < 2) return {};
  if (ranks > kMostRanks)
    throw ConfigError(fmt::format("{} on {} ranks: programs are simulated up to {}", to_string(backend),
                                  ranks, kMostRanks));
  if (backend == Backend::shm && machine.nodes > 1)
    throw ConfigError(
        fmt::format("shm on {} nodes: it connects ranks of one host; take shm+tcp", machine.nodes));
  if (backend == Backend::tcp) {
    const auto rates = host_rates(machine, costs.process_bytes_per_s);
    const auto time = world_time(machine, bytes, rates, costs.cost);
    return made(time.time, time.card_bound, time.algorithm);
  }
  if (machine.nodes > 1) return hierarchical(costs, machine, bytes);
  return made(shm_time(costs, machine, ranks, bytes), false, "in place");
}

}  // namespace gradwire

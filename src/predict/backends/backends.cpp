#include "predict/backends/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "sim/sweep.h"

namespace gradwire {
namespace {

constexpr double kTcpShare =
    0.94;  // of a card's nominal rate that TCP carries: 1.1 to 1.18 of 1.25 GB/s, 2.9 of 3.1

constexpr std::array<std::string_view, 6> kBackendNames = {"nccl", "gloo", "mpi", "shm", "tcp", "shm+tcp"};

}  // namespace

double card_rate(const Machine& machine) {
  return machine.network->gbit_per_nic.value_or(10) * 1e9 / 8 * kTcpShare;  // TCP sockets take one card
}

std::string to_string(Backend backend) {
  return std::string(kBackendNames.at(static_cast<std::size_t>(backend)));
}

Backend parse_backend(std::string_view text) {
  const auto found = std::ranges::find(kBackendNames, text);
  if (found != kBackendNames.end()) return static_cast<Backend>(found - kBackendNames.begin());
  const std::vector<std::string> known(kBackendNames.begin(), kBackendNames.end());
  throw ConfigError(fmt::format("'{}' has no model: with --on there are {}", text, join(known, ", ")));
}

// Steps: time of 4 bytes between 2 ranks / 2; rates: bus bandwidth at 64 MiB between 2 ranks. Measured on 2
// virtual cores without a network between, so the rates are what software passes on.
BackendCost default_backend_cost(Backend backend) {
  if (backend == Backend::gloo)  // 0.5.0, ring, 2 ranks over loopback: 112 us for 4 B, 48 ms for 64 MiB
    return {56e-6, 1.4e9};
  check(backend == Backend::mpi, "a backend with a model of its own");
  return {7.9e-6, 3.3e9};  // UCX 1.13.1 over TCP, ucx_perftest on loopback: tag_lat, tag_bw at 64 MiB
}

BackendCost backend_cost_from_bench(std::string_view text, Backend backend, std::string_view where) {
  if (!nlohmann::json::accept(text))
    throw ConfigError(fmt::format("{}: not JSON: give the output of `gradwire bench --json`", where));
  for (const Sweep& sweep : read_sweeps(text)) {
    const bool asked = sweep.backend == to_string(backend) && sweep.collective == Collective::all_reduce;
    const auto [small, large] =
        std::minmax_element(sweep.samples.begin(), sweep.samples.end(),
                            [](const Sample& a, const Sample& b) { return a.bytes < b.bytes; });
    if (!asked || sweep.ranks < 2 || small->bytes == large->bytes) continue;
    const double n = sweep.ranks, step = small->time / (2 * (n - 1));
    const double moving = std::max(large->time - 2 * (n - 1) * step, 0.1 * large->time);
    return {step, 2 * (n - 1) / n * static_cast<double>(large->bytes) / moving};
  }
  throw ConfigError(
      fmt::format("{}: two sizes of an all_reduce with {} are needed, see `gradwire bench --help`", where,
                  to_string(backend)));
}

BackendEstimate backend_all_reduce(const BackendCost& cost, const Machine& machine, Bytes bytes) {
  const auto n = static_cast<double>(machine.gpus.size());
  if (n < 2) return {};
  const bool network_bound = machine.nodes > 1 && card_rate(machine) < cost.host_bytes_per_s;
  const double rate = network_bound ? card_rate(machine) : cost.host_bytes_per_s;
  const Seconds steps = 2 * (n - 1) * cost.step;
  const Seconds moving = 2 * (n - 1) / n * static_cast<double>(bytes) / rate;
  return {steps + moving, network_bound && moving > steps, "ring",
          network_bound && moving > 10 * steps ? kCardError : kSoftwareError};
}

}  // namespace gradwire

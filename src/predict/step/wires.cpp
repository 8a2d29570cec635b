#include "predict/step/wires.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>

#include "predict/backends/own.h"
#include "predict/step/on_machine.h"

namespace gradwire {
namespace {

// What a GPU's slot carries, one way.
double slot_rate(const Machine& machine) {
  for (const auto& link : machine.topology.links())
    if (link.from == machine.gpus.front() && link.kind == LinkKind::pcie) return link.rate.bytes_per_s;
  return machine.gpu.c2c_bytes_per_s > 0 ? machine.gpu.c2c_bytes_per_s : 12e9;  // PCIe 3 x16
}

std::function<BackendEstimate(Bytes)> pricing(const Machine& machine, Backend backend) {
  if (!is_own(backend))
    return [machine, cost = default_backend_cost(backend)](Bytes bytes) {
      return backend_all_reduce(cost, machine, bytes);
    };
  return [machine, backend, costs = default_own_costs()](Bytes bytes) {
    return own_all_reduce(backend, costs, machine, bytes);
  };
}

}  // namespace

bool go_alike(const Wires& a, const Wires& b) { return a.backend == b.backend && a.way == b.way; }

bool err_alike(const Wires& a, const Wires& b) {
  return go_alike(a, b) || (a.network && a.network == b.network);
}

double ratio_spread(const Wires& a, const Wires& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kNcclConstants; ++i) {
    const double both = a.doubt.by_constant[i] - b.doubt.by_constant[i];
    sum += both * both;
  }
  const auto rest = [](const Wires& wires) {
    const bool nccl = wires.doubt.total() > 0;
    return nccl ? wires.doubt.rest : wires.relative_error / kEightOfTen;
  };
  const double rest_a = rest(a), rest_b = rest(b);
  return err_alike(a, b) ? std::hypot(std::sqrt(sum), rest_a - rest_b)
                         : std::sqrt(sum + rest_a * rest_a + rest_b * rest_b);
}

std::function<Seconds(Bytes)> alpha_beta(int ranks, double bytes_per_s, Seconds latency) {
  const double trips = ranks > 1 ? 2.0 * (ranks - 1) / ranks : 0;
  return [=](Bytes bytes) { return ranks > 1 ? latency + trips * double(bytes) / bytes_per_s : 0.0; };
}

Wires backend_wires(const Machine& machine, Backend backend, Bytes of_bytes) {
  Wires wires;
  wires.ranks = static_cast<int>(machine.gpus.size());
  wires.nodes = machine.nodes;
  wires.backend = backend;
  wires.all_reduce = [](Bytes) { return 0.0; };
  wires.algorithm = "none";
  const auto price = pricing(machine, backend);
  if (wires.ranks == 1) return wires;
  const double slot = slot_rate(machine);
  // A step asks for few sizes again and again, and a simulation takes milliseconds.
  const auto known = std::make_shared<std::map<Bytes, Seconds>>();
  wires.all_reduce = [price, slot, known](Bytes bytes) {
    const auto [entry, fresh] = known->try_emplace(bytes, 0);
    if (fresh) entry->second = price(bytes).time + 2 * double(bytes) / slot;
    return entry->second;
  };
  const auto estimate = price(of_bytes);
  wires.relative_error = estimate.relative_error;
  wires.algorithm = to_string(backend) + " " + estimate.algorithm;
  wires.way = way_through_host(machine);
  wires.narrowest = held_by_host(backend, estimate.network_bound);
  return wires;
}

Wires wires_for(const Machine& machine, const StepOptions& options, Bytes of_bytes) {
  if (options.backend == Backend::nccl) return wires_of(machine, of_bytes, options.nccl);
  return backend_wires(machine, options.backend, of_bytes);
}

}  // namespace gradwire

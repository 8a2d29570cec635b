#include <fmt/format.h>

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

Wires backend_wires(const Machine& machine, Backend backend, Bytes of_bytes) {
  Wires wires;
  wires.ranks = static_cast<int>(machine.gpus.size());
  wires.nodes = machine.nodes;
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
  const auto name = to_string(backend);
  wires.relative_error = estimate.relative_error;
  wires.algorithm = name + " " + estimate.algorithm;
  wires.path = name + (machine.nodes > 1 ? " through host memory and network" : " through host memory");
  wires.way = "over " + wires.path;
  wires.narrowest_link = estimate.network_bound ? "network card" : name + "'s own rate";
  return wires;
}

Wires wires_for(const Machine& machine, const StepOptions& options, Bytes of_bytes) {
  if (options.backend == Backend::nccl) return wires_of(machine, of_bytes, options.nccl);
  return backend_wires(machine, options.backend, of_bytes);
}

}  // namespace gradwire

#include "predict/step/on_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "predict/nccl/own.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

// Neighbours of a ring over the first node: how many have no peer access, so that a framework that copies by itself
// stages them in host memory, and next to how many sockets. Which way NCCL goes is its fabric's to say.
struct Staging {
  int hops = 0, staged = 0, sockets = 0;
};

Staging staging_of(const Machine& machine) {
  Staging staging;
  std::set<DeviceId> sockets;
  const int here = std::min<int>(machine.gpus_per_node(), static_cast<int>(machine.gpus.size()));
  for (int i = 0; i < here && here > 1; ++i) {
    const auto from = machine.gpus[static_cast<std::size_t>(i)];
    const auto to = machine.gpus[static_cast<std::size_t>((i + 1) % here)];
    const auto path = find_path(machine, from, to);
    ++staging.hops;
    if (!path.through_host) continue;
    ++staging.staged;
    for (const auto link : path.links)
      for (const auto device : {machine.topology.link(link).from, machine.topology.link(link).to})
        if (machine.topology.device(device).kind == DeviceKind::memory) sockets.insert(device);
  }
  staging.sockets = std::max<int>(1, static_cast<int>(sockets.size()));
  return staging;
}

double narrowest(const Machine& machine) {
  double rate = std::numeric_limits<double>::infinity();
  const auto count = machine.gpus.size();
  for (std::size_t i = 0; i < count && count > 1; ++i)
    rate = std::min(rate, find_path(machine, machine.gpus[i], machine.gpus[(i + 1) % count]).bytes_per_s);
  return rate;
}

// Of the first node's: the most that NVLink joins, by way of each other.
int most_nvlinked(const Machine& machine) {
  const auto here =
      std::min<std::size_t>(static_cast<std::size_t>(machine.gpus_per_node()), machine.gpus.size());
  std::vector<bool> seen(here);
  int most = 0;
  for (std::size_t first = 0; first < here; ++first) {
    std::vector<std::size_t> group;
    if (!seen[first]) group.push_back(first);
    seen[first] = true;
    for (std::size_t at = 0; at < group.size(); ++at)
      for (std::size_t other = 0; other < here; ++other)
        if (!seen[other] &&
            nvlinks_between(machine.topology, machine.gpus[group[at]], machine.gpus[other]) > 0) {
          seen[other] = true;
          group.push_back(other);
        }
    most = std::max(most, static_cast<int>(group.size()));
  }
  return most;
}

// What a node by itself would take of a collective's time. For the rest its memory waits for the network.
double host_share(const NcclModel& model, const Calibration& calibration, Bytes bytes) {
  NcclFabric node = model.fabric();
  if (node.nodes == 1) return 1;
  node.ranks = node.ranks_per_node;
  node.nodes = 1;
  return std::min(1.0, NcclPredictor(node, calibration).time(bytes) / model.all_reduce_time(bytes));
}

}  // namespace

Wires wires_of(const Machine& machine, Bytes of_bytes, const NcclSettings& settings,
               const Calibration& calibration) {
  Wires wires;
  wires.ranks = static_cast<int>(machine.gpus.size());
  wires.nodes = machine.nodes;
  if (machine.nodes > 1) wires.network = machine.network;
  if (wires.ranks == 1) {
    wires.all_reduce = [](Bytes) { return 0.0; };
    wires.algorithm = "none";
    return wires;
  }
  const auto staging = staging_of(machine);
  wires.staged_share = settings.p2p_disabled ? 1 : double(staging.staged) / std::max(1, staging.hops);
  const bool one_socket = maker_rules(machine.cpu).one_socket && !machine.node.matrix;
  wires.sockets = one_socket ? 1 : staging.sockets;
  const auto model = std::make_shared<const NcclModel>(machine, calibration, settings);
  wires.through_host = model->fabric().link() == NcclLink::host;
  if (wires.through_host)
    wires.host_share = host_share(*model, own_calibration(machine, calibration), of_bytes);
  wires.all_reduce = [model](Bytes bytes) { return model->all_reduce_time(bytes); };
  const auto estimate = model->all_reduce(of_bytes);
  wires.relative_error = estimate.relative_error;
  wires.doubt = estimate.doubt;
  wires.loads = model->loads();
  wires.algorithm = estimate.algorithm + " " + estimate.protocol;
  wires.way = estimate.way;
  wires.ranks_per_node = wires.ranks / std::max(1, wires.nodes);
  const int nvlinked = model->fabric().over_nvlink() || settings.p2p_disabled ? 0 : most_nvlinked(machine);
  if (nvlinked > 1 && nvlinked < wires.ranks_per_node) wires.nvlinked = nvlinked;
  wires.narrowest = estimate.narrowest;
  return wires;
}

Wires alpha_beta_wires(const Machine& machine) {
  Wires wires;
  wires.ranks = static_cast<int>(machine.gpus.size());
  wires.nodes = machine.nodes;
  wires.all_reduce = alpha_beta(wires.ranks, narrowest(machine), 0);
  return wires;
}

void check_computes(const Machine& machine, const StepOptions& options) {
  if (machine.gpus.empty())
    throw ConfigError(fmt::format(
        "{} has no GPU: name a machine that has, as in dgx-a100; see gradwire list machines", machine.name));
  if (machine.gpu.fp32_flops == 0 && !options.anchor)
    throw ConfigError(
        fmt::format("{0} does not say which GPU it has: write {0}:rtx3090 or another of gradwire list "
                    "gpus, or give --step-ms, a step measured on it",
                    machine.name));
}

void refuse_precision(Precision precision, const Machine& machine, std::span<const Precision> has) {
  std::vector<std::string> names;
  for (const Precision one : has) names.emplace_back(name_of(one));
  throw ConfigError(fmt::format("--precision {}: {} of {} does not have it; it has {}", name_of(precision),
                                machine.gpu.name, machine.name, join(names, ", ")));
}

StepEstimate estimate_step(const Workload& workload, const Machine& machine, const StepOptions& options,
                           const StepModel& model) {
  check_computes(machine, options);
  const auto bytes = parameter_count(workload) * static_cast<Bytes>(options.gradient_bytes);
  return estimate_step(workload, machine.gpu,
                       wires_for(machine, options, std::min(bytes, options.buckets.rest)), options, model);
}

}  // namespace gradwire

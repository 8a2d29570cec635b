#include "topo/machine.h"

#include <algorithm>

#include "base/error.h"
#include "topo/assemble.h"
#include "topo/build_node.h"
#include "topo/cluster.h"
#include "topo/resolve.h"

namespace gradwire {
namespace {

constexpr int kMostNodes = 65536;

Topology build_topology(const Topology& node, const Machine& machine) {
  if (machine.nodes == 1) return node;
  const std::vector<DeviceId> cards = choose_cards(node, *machine.network->nics_per_node);
  if (cards.empty())
    throw ConfigError(fmt::format("{} has no network card to join nodes with", machine.name));
  return join_nodes(node, machine.nodes, *machine.network, cards);
}

std::vector<DeviceId> gpus_in_use(const Machine& machine) {
  std::vector<DeviceId> gpus;
  for (int i = 0; i < machine.nodes; ++i) {
    const std::vector<DeviceId> all = machine.topology.find_devices(DeviceKind::gpu, i);
    for (const int index : machine.node.gpu_indices) gpus.push_back(all.at(static_cast<std::size_t>(index)));
  }
  return gpus;
}

}  // namespace

Machine assemble(const ResolvedNode& resolved, const Topology& node, int nodes) {
  if (nodes < 1 || nodes > kMostNodes)
    throw ConfigError(fmt::format("a machine has 1 to {} nodes, not {}", kMostNodes, nodes));
  if (nodes > 1 && !resolved.spec.network)
    throw ConfigError(fmt::format("{} nodes of {} need a network: write for example {}*{}@10gbe or @ndr",
                                  nodes, resolved.spec.name, nodes, resolved.spec.name));
  Machine machine;
  machine.name = resolved.spec.name;
  machine.node = resolved.spec;
  machine.nodes = nodes;
  machine.gpu = resolved.gpu;
  machine.cpu = *resolved.spec.cpu;
  machine.p2p = *resolved.spec.p2p;
  machine.network = resolved.spec.network;
  machine.notes = resolved.notes;
  machine.topology = build_topology(node, machine);
  machine.gpus = gpus_in_use(machine);
  return machine;
}

Machine build_machine(const NodeSpec& spec, int nodes, const std::optional<NetworkSpec>& network) {
  const ResolvedNode resolved = resolve(spec, network);
  return assemble(resolved, build_node(resolved), nodes);
}

Machine with_gpus(Machine machine, int gpus) {
  const int per_node = machine.gpus_per_node();
  if (gpus < 1 || gpus > static_cast<int>(machine.gpus.size()))
    throw ConfigError(
        fmt::format("{} has {} GPUs: {} can't be used", machine.name, machine.gpus.size(), gpus));
  if (gpus > per_node && gpus % per_node != 0)
    throw ConfigError(fmt::format("{} has {} GPUs a node: use some of one node or a multiple of {}, not {}",
                                  machine.name, per_node, per_node, gpus));
  machine.gpus.resize(static_cast<std::size_t>(gpus));
  machine.nodes = std::max(1, gpus / per_node);
  machine.node.gpus = std::min(gpus, per_node);
  machine.node.gpu_indices.resize(static_cast<std::size_t>(machine.node.gpus));
  return machine;
}

std::vector<LinkId> staged_route(const Topology& topology, DeviceId from, DeviceId to) {
  const std::vector<DeviceId> memories = topology.nearest(to, DeviceKind::memory);
  if (memories.empty())
    throw ConfigError(fmt::format("{} reaches no host memory", device_name(topology, to)));
  std::vector<LinkId> route = topology.route(from, memories.front());
  const std::vector<LinkId> down = topology.route(memories.front(), to);
  route.insert(route.end(), down.begin(), down.end());
  return route;
}

Path find_path(const Machine& machine, DeviceId from, DeviceId to) {
  const Topology& topology = machine.topology;
  Path path;
  path.path_class = classify(topology, from, to);
  if (path.path_class == PathClass::self || path.path_class == PathClass::none) return path;
  const bool gpus =
      topology.device(from).kind == DeviceKind::gpu && topology.device(to).kind == DeviceKind::gpu;
  path.through_host =
      gpus && !machine.p2p && path.path_class >= PathClass::pix && path.path_class <= PathClass::sys;
  path.links = path.through_host ? staged_route(topology, from, to) : topology.route(from, to);
  path.bytes_per_s = bottleneck(topology, path.links);
  path.latency = latency(topology, path.links);
  return path;
}

}  // namespace gradwire

#include "topo/machine.h"

#include <algorithm>

#include "base/error.h"
#include "topo/build/assemble.h"
#include "topo/build/cluster.h"
#include "topo/build/node.h"
#include "topo/build/resolve.h"

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

namespace {

void append(std::vector<LinkId>& route, const std::vector<LinkId>& more) {
  route.insert(route.end(), more.begin(), more.end());
}

// The same network cards, but each GPU's data passes through the memory next to it.
std::vector<LinkId> staged_network_route(const Topology& topology, const std::vector<LinkId>& direct) {
  const auto is_network = [&](LinkId id) { return topology.link(id).kind == LinkKind::network; };
  const auto first = std::find_if(direct.begin(), direct.end(), is_network);
  const auto last = std::find_if(direct.rbegin(), direct.rend(), is_network).base();
  const DeviceId from = topology.link(direct.front()).from, to = topology.link(direct.back()).to;
  const DeviceId near = topology.nearest(from, DeviceKind::memory).at(0),
                 far = topology.nearest(to, DeviceKind::memory).at(0);
  std::vector<LinkId> route = topology.route(from, near);
  append(route, topology.route(near, topology.link(*first).from));
  route.insert(route.end(), first, last);
  append(route, topology.route(topology.link(*(last - 1)).to, far));
  append(route, topology.route(far, to));
  return route;
}

bool are_gpus(const Topology& topology, DeviceId a, DeviceId b) {
  return topology.device(a).kind == DeviceKind::gpu && topology.device(b).kind == DeviceKind::gpu;
}

bool goes_through_host(const Machine& machine, PathClass path) {
  if (path == PathClass::net) return machine.network && !machine.network->gpudirect.value_or(true);
  return !machine.p2p && path >= PathClass::pix && path <= PathClass::sys;
}

}  // namespace

Path find_path(const Machine& machine, DeviceId from, DeviceId to) {
  const Topology& topology = machine.topology;
  Path path;
  path.path_class = classify(topology, from, to);
  if (path.path_class == PathClass::self || path.path_class == PathClass::none) return path;
  path.through_host = are_gpus(topology, from, to) && goes_through_host(machine, path.path_class);
  if (!path.through_host)
    path.links = topology.route(from, to);
  else if (path.path_class == PathClass::net)
    path.links = staged_network_route(topology, topology.route(from, to));
  else
    path.links = staged_route(topology, from, to);
  path.bytes_per_s = bottleneck(topology, path.links);
  path.latency = latency(topology, path.links);
  return path;
}

}  // namespace gradwire

#include "topo/machine.h"

#include <algorithm>

#include "base/error.h"
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
  if (nodes > 1 && machine.network->cards_far)
    machine.notes.emplace_back(
        "GPUs and network cards meet at a processor, farther apart than NCCL uses GPUDirect: data is taken "
        "through host memory; gpudirect: true in a file, or NCCL_NET_GDR_LEVEL=SYS, says otherwise");
  machine.topology = build_topology(node, machine);
  machine.gpus = gpus_in_use(machine);
  return machine;
}

std::string counted_gpus(int gpus) { return fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s"); }

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

namespace {

void append(std::vector<LinkId>& route, const std::vector<LinkId>& more) {
  route.insert(route.end(), more.begin(), more.end());
}

// Ways: a Topology, or the Routes of one.
template <typename Ways>
std::vector<LinkId> route_by(Ways& ways, const Topology& topology, DeviceId from, DeviceId to) {
  auto found = ways.find_route(from, to);
  return found ? *std::move(found) : topology.route(from, to);  // which says that there is none
}

template <typename Ways>
DeviceId memory_next_to(Ways& ways, const Topology& topology, DeviceId device) {
  const auto& memories = ways.nearest(device, DeviceKind::memory);
  if (memories.empty())
    throw ConfigError(fmt::format("{} reaches no host memory", device_name(topology, device)));
  return memories.front();
}

template <typename Ways>
std::vector<LinkId> staged_by(Ways& ways, const Topology& topology, DeviceId from, DeviceId to) {
  const DeviceId memory = memory_next_to(ways, topology, to);
  std::vector<LinkId> route = route_by(ways, topology, from, memory);
  append(route, route_by(ways, topology, memory, to));
  return route;
}

// The same network cards, but each GPU's data passes through the memory next to it.
template <typename Ways>
std::vector<LinkId> staged_network_route(Ways& ways, const Topology& topology,
                                         const std::vector<LinkId>& direct) {
  const auto is_network = [&](LinkId id) { return topology.link(id).kind == LinkKind::network; };
  const auto first = std::find_if(direct.begin(), direct.end(), is_network);
  const auto last = std::find_if(direct.rbegin(), direct.rend(), is_network).base();
  const DeviceId from = topology.link(direct.front()).from, to = topology.link(direct.back()).to;
  const DeviceId near = memory_next_to(ways, topology, from), far = memory_next_to(ways, topology, to);
  std::vector<LinkId> route = route_by(ways, topology, from, near);
  append(route, route_by(ways, topology, near, topology.link(*first).from));
  route.insert(route.end(), first, last);
  append(route, route_by(ways, topology, topology.link(*(last - 1)).to, far));
  append(route, route_by(ways, topology, far, to));
  return route;
}

bool are_gpus(const Topology& topology, DeviceId a, DeviceId b) {
  return topology.device(a).kind == DeviceKind::gpu && topology.device(b).kind == DeviceKind::gpu;
}

bool goes_through_host(const Machine& machine, PathClass path) {
  if (path == PathClass::net) return machine.network && !goes_direct(*machine.network, true);
  return !machine.p2p && path >= PathClass::pix && path <= PathClass::sys;
}

template <typename Ways>
Path path_by(Ways& ways, const Machine& machine, DeviceId from, DeviceId to) {
  const Topology& topology = machine.topology;
  Path path;
  auto direct = ways.find_route(from, to);
  path.path_class = direct ? classify(topology, *direct) : PathClass::none;
  if (path.path_class == PathClass::self || path.path_class == PathClass::none) return path;
  path.through_host = are_gpus(topology, from, to) && goes_through_host(machine, path.path_class);
  if (!path.through_host)
    path.links = *std::move(direct);
  else if (path.path_class == PathClass::net)
    path.links = staged_network_route(ways, topology, *direct);
  else
    path.links = staged_by(ways, topology, from, to);
  path.bytes_per_s = bottleneck(topology, path.links);
  path.latency = latency(topology, path.links);
  return path;
}

}  // namespace

std::optional<std::vector<LinkId>> find_staged_route(const Topology& topology, DeviceId from, DeviceId to) {
  const DeviceId memory = memory_next_to(topology, topology, to);
  auto route = topology.find_route(from, memory);
  if (route) append(*route, topology.route(memory, to));
  return route;
}

Path find_path(const Machine& machine, DeviceId from, DeviceId to) {
  return path_by(machine.topology, machine, from, to);
}

Path find_path(const Machine& machine, Routes& routes, DeviceId from, DeviceId to) {
  return path_by(routes, machine, from, to);
}

std::string matrix_cell(const Machine& machine, const Path& path) {
  if (path.path_class != PathClass::nvl) return std::string(to_string(path.path_class));
  return fmt::format("NV{}", nvlinks_along(machine.topology, path.links));
}

}  // namespace gradwire

#include "predict/nccl/hops.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "predict/nccl/version.h"
#include "topo/path.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

constexpr double kGigabyte = 1e9;
// One TCP flow of NCCL is bound by the processor: 2.0 GB/s for one ring (NVIDIA/nccl issue 209).
constexpr double kSocketFlow = 2.0;

// How far peer access goes by default. Node counts as the host bridge: NCCL knows NUMA nodes alone.
PathClass default_level(const Machine& machine, std::size_t gpus, const NcclSettings& settings) {
  const int version = version_of(machine, settings);
  PathClass level = PathClass::pxb;
  for (const auto& [since, gpus_over, up_to] : rules_of(machine).peer_access)
    if (version >= since && gpus > static_cast<std::size_t>(gpus_over)) level = up_to;
  return level;
}

PathClass level_of(const Machine& machine, std::size_t gpus, const NcclSettings& settings) {
  const PathClass level = settings.p2p_level.value_or(default_level(machine, gpus, settings));
  return level == PathClass::phb ? PathClass::node : level;
}

struct Crossing {
  Resource resource;
  int times;
};

bool between_switch_and_host(const Topology& topology, const Link& link) {
  return topology.device(link.from).kind == DeviceKind::pcie_switch ||
         topology.device(link.to).kind == DeviceKind::pcie_switch;
}

void cross_pcie(const Topology& topology, LinkId id, const RingHop& hop, std::vector<Crossing>& crossings) {
  const Link& link = topology.link(id);
  const double nominal = link.rate.nominal_bytes_per_s / kGigabyte;
  const bool of_gpu =
      topology.device(link.from).kind == DeviceKind::gpu || topology.device(link.to).kind == DeviceKind::gpu;
  const bool uplink = !of_gpu && between_switch_and_host(topology, link);
  const ResourceKind both = !hop.host ? ResourceKind::peer_slot
                            : uplink  ? ResourceKind::uplink
                                      : ResourceKind::host_slot;
  crossings.push_back({{hop.root ? ResourceKind::root_lane : ResourceKind::lane, nominal, 0, id}, 1});
  crossings.push_back({{both, nominal, 0, cable_of(topology, id)}, 1});
}

// Written once and read once: both pass the same memory.
void cross_memory(const Topology& topology, const Link& link, std::vector<Crossing>& crossings) {
  const bool down = topology.device(link.to).kind == DeviceKind::memory;
  crossings.push_back({{ResourceKind::memory, link.rate.nominal_bytes_per_s / kGigabyte, 0,
                        static_cast<int>(down ? link.to : link.from)},
                       1});
}

// A stream ends at what one GPU's requests get through (`achieved` in presets/cpus.yaml), all streams of a direction at half as much
// again: a guess between that and the link's nominal rate (20 and 96 GB/s on EPYC 7002). A ring sends one
// stream a direction, so that it counts where several groups or messages cross at once, which no record has.
constexpr double kAllStreams = 1.5;
void cross_sockets(const Link& link, DeviceId from, LinkId id, std::vector<Crossing>& crossings) {
  const double stream = link.rate.bytes_per_s / kGigabyte;
  crossings.push_back({{ResourceKind::socket, stream, from, id}, 1});
  crossings.push_back({{ResourceKind::socket, kAllStreams * stream, -1, id}, 1});
}

std::vector<Crossing> crossings_of(const Machine& machine, const RingHop& hop) {
  const Topology& topology = machine.topology;
  std::vector<Crossing> crossings;
  if (hop.flow) crossings.push_back({{ResourceKind::socket_flow, kSocketFlow, 0, hop.path.links.front()}, 1});
  for (const LinkId id : hop.path.links) {
    const Link& link = topology.link(id);
    if (link.kind == LinkKind::nvlink)
      crossings.push_back(
          {{ResourceKind::nvlink_cable, link.rate.nominal_bytes_per_s / kGigabyte, link.generation, id}, 1});
    if (link.kind == LinkKind::pcie) cross_pcie(topology, id, hop, crossings);
    if (link.kind == LinkKind::memory) cross_memory(topology, link, crossings);
    if (link.kind == LinkKind::socket) cross_sockets(link, hop.from, id, crossings);
  }
  return crossings;
}

// GPUs of two trays of a rack have no memory in common.
std::vector<LinkId> through_memory(const Topology& topology, DeviceId from, DeviceId to,
                                   const NcclSettings& settings) {
  if (auto route = find_staged_route(topology, from, to)) return *std::move(route);
  throw ConfigError(fmt::format("{} and {} have no host memory in common: NVLink alone can join them{}",
                                device_name(topology, from), device_name(topology, to),
                                settings.p2p_disabled ? ", which NCCL_P2P_DISABLE=1 turns off" : ""));
}

double believed_of(const Link& link) {
  return (link.rate.nccl_bytes_per_s > 0 ? link.rate.nccl_bytes_per_s : link.rate.bytes_per_s) / kGigabyte;
}

}  // namespace

LinkId cable_of(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  for (const LinkId other : topology.links_from(link.to))
    if (topology.link(other).to == link.from && topology.link(other).kind == link.kind)
      return std::min(id, other);
  return id;
}

const MakerRules& rules_of(const Machine& machine) {
  const std::string& model = machine.node.cpu_model;
  return maker_rules(model.empty() ? machine.cpu : find_processor(model).maker);
}

HopFinder::HopFinder(const Machine& machine, std::size_t ranks, const NcclSettings& settings)
    : machine_(machine),
      settings_(settings),
      routes_(machine.topology),
      level_(level_of(machine, ranks, settings)) {}

RingHop HopFinder::find(DeviceId from, DeviceId to) {
  RingHop hop{from, find_path(machine_, routes_, from, to)};
  const PathClass distance = hop.path.path_class;
  hop.nvlink = distance == PathClass::nvl && !settings_.p2p_disabled;
  hop.host = !hop.nvlink && (hop.path.through_host || settings_.p2p_disabled || distance > level_);
  hop.flow = hop.host && settings_.shm_disabled;
  hop.root = !hop.host && rules_of(machine_).root_cost > 1 && distance >= PathClass::phb;
  if (hop.host && !hop.path.through_host)
    hop.path.links = through_memory(machine_.topology, from, to, settings_);
  return hop;
}

HopSet hops_of(const Machine& machine, const std::vector<DeviceId>& order, const NcclSettings& settings) {
  HopSet set;
  HopFinder finder(machine, order.size(), settings);
  for (std::size_t i = 0; i < order.size(); ++i) {
    RingHop hop = finder.find(order[i], order[(i + 1) % order.size()]);
    set.any_nvlink |= hop.nvlink;
    set.any_host |= hop.host;
    set.any_sys |= hop.path.path_class == PathClass::sys;
    set.hops.push_back(std::move(hop));
  }
  return set;
}

double believed_gbps(const Machine& machine, const std::vector<const HopSet*>& rings,
                     const NcclSettings& settings) {
  std::map<LinkId, double> loads;
  const MakerRules& rules = rules_of(machine);
  const bool sockets_count = version_of(machine, settings) >= rules.socket_limit_since;
  for (const HopSet* ring : rings)
    for (const RingHop& hop : ring->hops)
      for (const LinkId id : hop.path.links) {
        const bool root =
            hop.path.path_class >= PathClass::phb && machine.topology.link(id).kind == LinkKind::pcie;
        loads[id] += (root ? rules.root_cost : 1) / static_cast<double>(rings.size());
      }
  double least = HUGE_VAL;
  for (const auto& [id, load] : loads) {
    const Link& link = machine.topology.link(id);
    if (link.kind == LinkKind::memory || link.kind == LinkKind::internal) continue;
    if (link.kind == LinkKind::socket && !sockets_count) continue;
    least = std::min(least, believed_of(link) / load);
  }
  return least;
}

void add_route(const Machine& machine, std::span<const RingHop> hops, NodeRings& rings) {
  std::vector<int> route;
  std::size_t open = 0;
  for (const RingHop& hop : hops) {
    open = route.size();
    for (const Crossing& crossing : crossings_of(machine, hop)) {
      const auto found = std::find(rings.resources.begin(), rings.resources.end(), crossing.resource);
      const auto index = static_cast<int>(found - rings.resources.begin());
      if (found == rings.resources.end()) rings.resources.push_back(crossing.resource);
      route.insert(route.end(), static_cast<std::size_t>(crossing.times), index);
    }
  }
  rings.chains.emplace_back(route.begin(), route.begin() + static_cast<std::ptrdiff_t>(open));
  rings.routes.push_back(std::move(route));
}

}  // namespace gradwire

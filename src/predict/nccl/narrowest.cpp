#include "predict/nccl/narrowest.h"

#include <algorithm>

namespace gradwire {
namespace {

std::string gpu_end(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  const bool is_gpu = topology.device(link.from).kind == DeviceKind::gpu;
  return device_name(topology, is_gpu ? link.from : link.to);
}

std::string place_of(const Topology& topology, const Resource& resource) {
  switch (resource.kind) {
    case ResourceKind::nvlink:
    case ResourceKind::memory:
      return device_name(topology, resource.id);
    case ResourceKind::nvlink_cable:
    case ResourceKind::lane:
    case ResourceKind::root_lane:
    case ResourceKind::uplink:
    case ResourceKind::socket:
      return link_name(topology, resource.id);
    case ResourceKind::peer_slot:
    case ResourceKind::host_slot:
      return gpu_end(topology, resource.id);
    case ResourceKind::socket_flow:
    case ResourceKind::thread_blocks:
      break;
  }
  return "";
}

Holdup holdup_of(NetworkLimit limit) {
  switch (limit) {
    case NetworkLimit::copies:
      return Holdup::copies;
    case NetworkLimit::slots:
      return Holdup::slots;
    case NetworkLimit::cards:
      break;
  }
  return Holdup::cards;
}

}  // namespace

Narrowest held_by(const Topology& topology, const Resource& resource) {
  return {.by = Holdup::resource, .resource = resource, .place = place_of(topology, resource)};
}

Narrowest held_by_host(Backend backend, bool network_bound) {
  return {.by = network_bound ? Holdup::host_card : Holdup::software, .backend = backend};
}

Narrowest find_narrowest(const NcclFabric& fabric, const NcclPrice& price, const Topology& topology) {
  const bool inside = fabric.ranks_per_node > 1;
  if (fabric.nodes > 1 && (!inside || price.network_gbps() < price.rings().gbps))
    return {.by = holdup_of(price.network_limit()),
            .cards = fabric.node_cards,
            .gbps = price.network_gbps(),
            .detour = fabric.detour};
  if (!inside) return {};
  const auto index = price.rings().narrowest;
  Narrowest narrowest = held_by(topology, fabric.rings.resources[index]);
  narrowest.crossed = load_of(fabric.rings, index);
  return narrowest;
}

ResourceClass class_of(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::nvlink:
    case ResourceKind::nvlink_cable:
      return ResourceClass::nvlinks;
    case ResourceKind::lane:
    case ResourceKind::root_lane:
      return ResourceClass::lane;
    case ResourceKind::peer_slot:
    case ResourceKind::host_slot:
      return ResourceClass::slot;
    case ResourceKind::uplink:
      return ResourceClass::uplink;
    case ResourceKind::memory:
      return ResourceClass::memory;
    case ResourceKind::socket:
      return ResourceClass::socket;
    case ResourceKind::socket_flow:
      return ResourceClass::tcp;
    case ResourceKind::thread_blocks:
      break;
  }
  return ResourceClass::thread_blocks;
}

std::vector<ResourceLoad> resource_loads(const NcclFabric& fabric, const NcclConstants& constants) {
  std::vector<ResourceLoad> loads;
  const auto room = [](const ResourceLoad& one) { return one.capacity_gbps / one.load; };
  for (std::size_t i = 0; i < fabric.rings.resources.size(); ++i) {
    const Resource& resource = fabric.rings.resources[i];
    const ResourceLoad one{class_of(resource.kind), load_of(fabric.rings, i),
                           capacity_of(resource, constants, fabric.sm)};
    const auto same = std::ranges::find(loads, one.of, &ResourceLoad::of);
    if (same == loads.end())
      loads.push_back(one);
    else if (room(one) < room(*same))
      *same = one;
  }
  std::ranges::stable_sort(loads, {}, room);
  return loads;
}

}  // namespace gradwire

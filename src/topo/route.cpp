// Routes. Inside a node: Dijkstra over its few dozen devices, with a cost per kind of link that puts NVLink
// before PCIe before a socket link. Between nodes: to a network card, through the switches, from a network
// card; only switches are searched there, so the cost does not grow with the number of nodes.
#include <algorithm>
#include <limits>
#include <queue>

#include "base/error.h"
#include "topo/topology.h"

namespace gradwire {
namespace {

constexpr int kFar = std::numeric_limits<int>::max();

constexpr int kSocketCost = 4096;

int cost(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return 1;
    case LinkKind::c2c:
      return 8;
    case LinkKind::socket:
      return kSocketCost;
    default:
      return 16;
  }
}

bool passes_through(DeviceKind kind) {
  return kind != DeviceKind::gpu && kind != DeviceKind::memory && kind != DeviceKind::nic;
}

}  // namespace

// Stops at `target`; kNoDevice searches the whole node. Links to other sockets wait until the search has come as
// far as they reach: of many sockets each has one to every other, and most are never taken.
Topology::Search Topology::search(DeviceId from, DeviceId target) const {
  const int node = device(from).node;
  check(node != kNoNode, "a route inside a node starts at one of its devices");
  const auto [first, last] = node_devices_[static_cast<std::size_t>(node)];
  const auto size = static_cast<std::size_t>(last - first);
  Search search{.first = first, .cost = std::vector<int>(size, kFar), .via = std::vector<LinkId>(size, -1)};
  struct Entry {
    int cost;
    DeviceId at;
    bool sockets;  // whether its links to other sockets are due, or the others
    auto operator<=>(const Entry&) const = default;
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  search.cost[static_cast<std::size_t>(from - first)] = 0;
  queue.push({0, from, false});
  for (std::size_t unseen = size; !queue.empty() && unseen > 0;) {
    const Entry entry = queue.top();
    queue.pop();
    const int so_far = search.cost_of(entry.at);
    if (!entry.sockets) {
      if (entry.cost > so_far) continue;
      if (entry.at == target) break;
      --unseen;
      if (entry.at != from && !passes_through(device(entry.at).kind)) continue;
      if (!socket_links(entry.at).empty()) queue.push({so_far + kSocketCost, entry.at, true});
    }
    for (const LinkId id : entry.sockets ? socket_links(entry.at) : other_links(entry.at)) {
      const Link& link = links_[static_cast<std::size_t>(id)];
      if (link.to < first || link.to >= last) continue;
      const int next = so_far + gradwire::cost(link.kind);
      const auto slot = static_cast<std::size_t>(link.to - first);
      if (next >= search.cost[slot]) continue;
      search.cost[slot] = next;
      search.via[slot] = id;
      queue.push({next, link.to, false});
    }
  }
  return search;
}

std::vector<LinkId> Topology::walk_back(const Search& search, DeviceId to) const {
  std::vector<LinkId> route;
  for (DeviceId at = to;;) {
    const LinkId id = search.via[static_cast<std::size_t>(at - search.first)];
    if (id < 0) break;
    route.push_back(id);
    at = link(id).from;
  }
  std::reverse(route.begin(), route.end());
  return route;
}

std::vector<DeviceId> Topology::nearest(DeviceId id, DeviceKind kind) const {
  return nearest(id, kind, search(id, kNoDevice));
}

std::vector<DeviceId> Topology::nearest(DeviceId id, DeviceKind kind, const Search& search) const {
  std::vector<DeviceId> found = find_devices(kind, device(id).node);
  const auto cabled = [&](DeviceId nic) { return !uplinks_[static_cast<std::size_t>(nic)].empty(); };
  if (kind == DeviceKind::nic && std::any_of(found.begin(), found.end(), cabled))
    std::erase_if(found, [&](DeviceId nic) { return !cabled(nic); });
  int least = kFar;
  for (const DeviceId other : found) least = std::min(least, search.cost_of(other));
  std::erase_if(found, [&](DeviceId other) { return least == kFar || search.cost_of(other) != least; });
  return found;
}

// GPUs that are equally near to several cards take turns, as NCCL lets them.
DeviceId Topology::leaving_nic(DeviceId from, const Search& search) const {
  if (device(from).kind == DeviceKind::nic) return from;
  const std::vector<DeviceId> nics = nearest(from, DeviceKind::nic, search);
  if (nics.empty()) return kNoDevice;
  const std::vector<DeviceId> gpus = find_devices(DeviceKind::gpu, device(from).node);
  const auto turn = std::find(gpus.begin(), gpus.end(), from) - gpus.begin();
  return nics[static_cast<std::size_t>(turn) % nics.size()];
}

bool Topology::share_a_switch(DeviceId nic, DeviceId other) const {
  for (const LinkId id : uplinks_[static_cast<std::size_t>(nic)])
    for (const LinkId too : uplinks_[static_cast<std::size_t>(other)])
      if (link(id).to == link(too).to) return true;
  return false;
}

// The card the receiver would itself leave by, if the sender's switch reaches it; else the nearest one that
// is on that switch (the same rail); else the receiver's own, over the spine.
DeviceId Topology::entering_nic(DeviceId to, const Search& search, DeviceId left_by) const {
  const DeviceId own = leaving_nic(to, search);
  if (own == kNoDevice || device(to).kind == DeviceKind::nic || share_a_switch(own, left_by)) return own;
  DeviceId best = own;
  int nearest = kFar;
  for (const DeviceId nic : find_devices(DeviceKind::nic, device(to).node)) {
    if (!share_a_switch(nic, left_by) || search.cost_of(nic) >= nearest) continue;
    nearest = search.cost_of(nic);
    best = nic;
  }
  return best;
}

// Up from each card until a switch of the other is met.
std::optional<std::vector<LinkId>> Topology::find_network_route(DeviceId from, DeviceId to) const {
  struct Visit {
    DeviceId at;
    std::vector<LinkId> route;
  };
  std::vector<Visit> visits = {{from, {}}};
  for (std::size_t i = 0; i < visits.size(); ++i) {
    for (const LinkId down : uplinks_[static_cast<std::size_t>(to)]) {
      const LinkId twin = twins_[static_cast<std::size_t>(down)];
      if (twin < 0 || link(down).to != visits[i].at) continue;
      visits[i].route.push_back(twin);
      return visits[i].route;
    }
    for (const LinkId up : uplinks_[static_cast<std::size_t>(visits[i].at)]) {
      const DeviceId next = link(up).to;
      if (std::any_of(visits.begin(), visits.end(), [&](const Visit& v) { return v.at == next; })) continue;
      std::vector<LinkId> route = visits[i].route;
      route.push_back(up);
      visits.push_back({next, std::move(route)});
    }
  }
  return std::nullopt;
}

std::optional<std::vector<LinkId>> Topology::find_route_between_nodes(DeviceId from, DeviceId to) const {
  const Search here = search(from, kNoDevice);
  const DeviceId left_by = leaving_nic(from, here);
  if (left_by == kNoDevice) return std::nullopt;
  const DeviceId entered_by = entering_nic(to, search(to, kNoDevice), left_by);
  if (entered_by == kNoDevice) return std::nullopt;
  const auto between = find_network_route(left_by, entered_by);
  const auto inside = find_route(entered_by, to);
  if (!between || !inside) return std::nullopt;
  std::vector<LinkId> route = walk_back(here, left_by);
  route.insert(route.end(), between->begin(), between->end());
  route.insert(route.end(), inside->begin(), inside->end());
  return route;
}

std::optional<std::vector<LinkId>> Topology::find_route(DeviceId from, DeviceId to) const {
  if (from == to) return std::vector<LinkId>{};
  if (device(from).node != device(to).node) return find_route_between_nodes(from, to);
  const Search found = search(from, to);
  if (found.cost_of(to) == kFar) return std::nullopt;
  return walk_back(found, to);
}

std::vector<LinkId> Topology::route(DeviceId from, DeviceId to) const {
  auto found = find_route(from, to);
  if (!found)
    throw ConfigError(fmt::format("there is no way from {} to {} on this machine", device_name(*this, from),
                                  device_name(*this, to)));
  return std::move(*found);
}

bool Topology::reaches(DeviceId from, DeviceId to) const { return find_route(from, to).has_value(); }

const Topology::Search& Routes::search(DeviceId from) {
  const auto found = searches_.find(from);
  if (found != searches_.end()) return found->second;
  return searches_.emplace(from, topology_.search(from, kNoDevice)).first->second;
}

std::optional<std::vector<LinkId>> Routes::find_route(DeviceId from, DeviceId to) {
  if (from == to || topology_.device(from).node != topology_.device(to).node)
    return topology_.find_route(from, to);
  const Topology::Search& found = search(from);
  if (found.cost_of(to) == kFar) return std::nullopt;
  return topology_.walk_back(found, to);
}

const std::vector<DeviceId>& Routes::nearest(DeviceId id, DeviceKind kind) {
  const auto found = nearest_.find({id, kind});
  if (found != nearest_.end()) return found->second;
  return nearest_.emplace(std::pair(id, kind), topology_.nearest(id, kind, search(id))).first->second;
}

}  // namespace gradwire

#include "topo/topology.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace gradwire {

DeviceId Topology::add_device(Device device) {
  const auto id = static_cast<DeviceId>(devices_.size());
  if (device.node != kNoNode) {
    check(device.node == nodes() || (device.node == nodes() - 1 && node_devices_.back().second == id),
          "the devices of a node are added one after the other");
    if (device.node == nodes()) node_devices_.emplace_back(id, id);
    node_devices_.back().second = id + 1;
  }
  devices_.push_back(std::move(device));
  out_.emplace_back();
  uplinks_.emplace_back();
  return id;
}

LinkId Topology::add_link(Link link) {
  const auto id = static_cast<LinkId>(links_.size());
  auto& out = out_[static_cast<std::size_t>(link.from)];
  if (link.kind == LinkKind::socket || out.empty() || this->link(out.back()).kind != LinkKind::socket)
    out.push_back(id);
  else
    out.insert(out.end() - static_cast<std::ptrdiff_t>(socket_links(link.from).size()), id);
  if (device(link.to).kind == DeviceKind::net_switch)
    uplinks_[static_cast<std::size_t>(link.from)].push_back(id);
  links_.push_back(link);
  twins_.push_back(-1);
  return id;
}

void Topology::add_cable(const Link& link) {
  Link back = link;
  std::swap(back.from, back.to);
  const LinkId there = add_link(link);
  const LinkId here = add_link(back);
  twins_[static_cast<std::size_t>(there)] = here;
  twins_[static_cast<std::size_t>(here)] = there;
}

void Topology::reserve(std::size_t devices, std::size_t links) {
  devices_.reserve(devices);
  out_.reserve(devices);
  uplinks_.reserve(devices);
  links_.reserve(links);
  twins_.reserve(links);
}

const Device& Topology::device(DeviceId id) const { return devices_.at(static_cast<std::size_t>(id)); }
const Link& Topology::link(LinkId id) const { return links_.at(static_cast<std::size_t>(id)); }
std::span<const LinkId> Topology::links_from(DeviceId id) const {
  return out_.at(static_cast<std::size_t>(id));
}

std::span<const LinkId> Topology::other_links(DeviceId id) const {
  const auto all = links_from(id);
  const auto sockets = std::partition_point(all.begin(), all.end(),
                                            [&](LinkId one) { return link(one).kind != LinkKind::socket; });
  return all.first(static_cast<std::size_t>(sockets - all.begin()));
}
std::span<const LinkId> Topology::socket_links(DeviceId id) const {
  return links_from(id).subspan(other_links(id).size());
}

std::vector<DeviceId> Topology::find_devices(DeviceKind kind, int node) const {
  std::vector<DeviceId> found;
  auto [first, last] = std::pair<DeviceId, DeviceId>(0, static_cast<DeviceId>(devices_.size()));
  if (node != kNoNode) std::tie(first, last) = node_devices_.at(static_cast<std::size_t>(node));
  for (DeviceId id = first; id < last; ++id)
    if (device(id).kind == kind && device(id).node == node) found.push_back(id);
  return found;
}

std::string_view to_string(DeviceKind kind) {
  constexpr std::array names = {"gpu",         "cpu",      "host_bridge", "memory",
                                "pcie_switch", "nvswitch", "nic",         "net_switch"};
  return names.at(static_cast<std::size_t>(kind));
}

std::string_view to_string(LinkKind kind) {
  constexpr std::array names = {"nvlink", "c2c", "pcie", "internal", "socket", "memory", "network"};
  return names.at(static_cast<std::size_t>(kind));
}

std::string device_name(const Topology& topology, DeviceId id) {
  const Device& device = topology.device(id);
  if (topology.nodes() <= 1 || device.node == kNoNode) return device.name;
  return fmt::format("node {} {}", device.node, device.name);
}

namespace {

std::string link_type(const Link& link) {
  switch (link.kind) {
    case LinkKind::nvlink:
      return fmt::format("NVLink {} x{}", link.generation, link.width);
    case LinkKind::pcie:
      return fmt::format("PCIe {} x{}", link.generation, link.width);
    case LinkKind::c2c:
      return "NVLink-C2C";
    case LinkKind::internal:
      return "inside the processor";
    case LinkKind::socket:
      return "between sockets";
    case LinkKind::memory:
      return "memory";
    case LinkKind::network:
      return "network";
  }
  return {};
}

}  // namespace

std::string link_name(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  return fmt::format("{} > {} ({})", device_name(topology, link.from), device_name(topology, link.to),
                     link_type(link));
}

double bottleneck(const Topology& topology, std::span<const LinkId> route) {
  double lowest = 0;
  for (const LinkId id : route) {
    const double rate = topology.link(id).rate.bytes_per_s;
    lowest = lowest == 0 ? rate : std::min(lowest, rate);
  }
  return lowest;
}

Seconds latency(const Topology& topology, std::span<const LinkId> route) {
  Seconds sum = 0;
  for (const LinkId id : route) sum += topology.link(id).rate.latency;
  return sum;
}

}  // namespace gradwire

#include "topo/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::array kNames = {"X", "NVL", "NVB", "C2C", "PIX", "PXB", "PHB", "NODE", "SYS", "NET", "DIS"};

// What a route passes, by kind of link and device.
struct Passed {
  int switches = 0, bridges = 0;
  bool nvlink = false, c2c = false, socket = false, network = false, pcie = false;
};

Passed passed(const Topology& topology, std::span<const LinkId> route) {
  Passed result;
  for (const LinkId id : route) {
    const Link& link = topology.link(id);
    result.nvlink |= link.kind == LinkKind::nvlink;
    result.c2c |= link.kind == LinkKind::c2c;
    result.socket |= link.kind == LinkKind::socket;
    result.network |= link.kind == LinkKind::network;
    result.pcie |= link.kind == LinkKind::pcie;
    if (id == route.back()) continue;
    result.switches += topology.device(link.to).kind == DeviceKind::pcie_switch;
    result.bridges += topology.device(link.to).kind == DeviceKind::host_bridge;
  }
  return result;
}

PathClass class_of(const Passed& passed) {
  if (passed.network) return PathClass::net;
  if (passed.socket) return PathClass::sys;
  if (passed.nvlink) return PathClass::nvl;
  if (passed.c2c && !passed.pcie) return PathClass::c2c;
  if (passed.bridges > 1) return PathClass::node;
  if (passed.bridges == 1) return PathClass::phb;
  return passed.switches > 1 ? PathClass::pxb : PathClass::pix;
}

}  // namespace

PathClass classify(const Topology& topology, DeviceId from, DeviceId to) {
  const auto route = topology.find_route(from, to);
  return route ? classify(topology, *route) : PathClass::none;
}

PathClass classify(const Topology& topology, std::span<const LinkId> route) {
  return route.empty() ? PathClass::self : class_of(passed(topology, route));
}

std::string_view to_string(PathClass path) { return kNames.at(static_cast<std::size_t>(path)); }

std::optional<PathClass> find_path_class(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (upper == "SOC") return PathClass::sys;
  if (upper.starts_with("NV") && find_integer<int>(std::string_view(upper).substr(2))) return PathClass::nvl;
  const auto found = std::find(kNames.begin(), kNames.end(), upper);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<PathClass>(found - kNames.begin());
}

int nvlinks_between(const Topology& topology, DeviceId from, DeviceId to) {
  if (topology.device(from).node != topology.device(to).node) return 0;
  const auto route = topology.find_route(from, to);
  return route ? nvlinks_along(topology, *route) : 0;
}

int nvlinks_along(const Topology& topology, std::span<const LinkId> route) {
  int width = 0;
  for (const LinkId id : route) {
    const Link& link = topology.link(id);
    if (link.kind != LinkKind::nvlink) return 0;
    width = width == 0 ? link.width : std::min(width, link.width);
  }
  return width;
}

std::string matrix_cell(const Topology& topology, DeviceId from, DeviceId to) {
  const PathClass path = classify(topology, from, to);
  if (path == PathClass::nvl) return fmt::format("NV{}", nvlinks_between(topology, from, to));
  return std::string(to_string(path));
}

}  // namespace gradwire

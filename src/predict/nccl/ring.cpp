#include "predict/nccl/ring.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "predict/nccl/hops.h"
#include "predict/nccl/version.h"
#include "topo/path.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

constexpr double kBytesInGb = 1e9;

int nvlinks(const Machine& machine, DeviceId a, DeviceId b) {
  return nvlinks_between(machine.topology, a, b);
}

// NCCL too gives up after 2^14 tries (search.cc, 332): machines that need more are made up.
constexpr int kMostTries = 1 << 14;

// Places the rest of a ring by trying; `order` begins with what is placed.
struct RingSearch {
  const std::vector<std::vector<bool>>& joined;
  std::vector<std::size_t> order;
  int tries = 0;

  bool close(std::size_t placed) {
    if (placed == order.size()) return joined[order.back()][order.front()];
    for (std::size_t i = placed; i < order.size() && ++tries < kMostTries; ++i) {
      if (!joined[order[placed - 1]][order[i]]) continue;
      std::swap(order[placed], order[i]);
      if (close(placed + 1)) return true;
      std::swap(order[placed], order[i]);
    }
    return false;
  }
};

bool has_nvswitch(const Machine& machine) {
  return !machine.topology.find_devices(DeviceKind::nvswitch, 0).empty();
}

// Rings of 20 GB/s before Hopper, of 30 and 45 since, each doubled when it is connected (connect.cc, 448-460).
int nvlink_blocks(int sm, double believed) {
  const double ring = sm >= 100 ? 45 : sm >= 90 ? 30 : 20;
  return std::clamp(2 * static_cast<int>(std::lround(believed / ring)), 2, 32);
}

// NCCL lays as many rings as every GPU has links to the others; both directions of a link are used. The GPU
// with the fewest links holds them up.
NodeRings nvlink_rings(const Machine& machine, const std::vector<DeviceId>& gpus) {
  int fewest = 0;
  DeviceId weakest = gpus[0];
  const bool switched = has_nvswitch(machine);
  for (const DeviceId gpu : gpus) {
    int links = 0;
    for (const DeviceId other : gpus)
      if (gpu != other)
        links = switched ? nvlinks(machine, gpu, other) : links + nvlinks(machine, gpu, other);
    if (fewest == 0 || links < fewest) std::tie(fewest, weakest) = std::pair(links, gpu);
    if (switched) break;
  }
  const int generation = machine.node.nvlink_gen.value_or(machine.gpu.nvlink_gen);
  const Rate rate = nvlink_rate(machine.gpu, std::max(1, generation), fewest);
  NodeRings rings;
  rings.link = switched ? NcclLink::nvswitch : NcclLink::nvlink;
  rings.believed_gbps = rate.nccl_bytes_per_s / kBytesInGb;
  rings.nominal_gbps = rate.nominal_bytes_per_s / kBytesInGb;
  rings.thread_blocks = nvlink_blocks(machine.gpu.sm, rings.believed_gbps);
  rings.resources = {{ResourceKind::nvlink, rings.nominal_gbps, generation, weakest}};
  rings.routes = rings.chains = {{0}};
  return rings;
}

// NCCL's order over PCIe: from each GPU on to the nearest that is left. A bridged pair stays together.
std::vector<DeviceId> nearest_order(const Machine& machine, std::vector<DeviceId> gpus) {
  Routes routes(machine.topology);
  const auto distance = [&](DeviceId from, DeviceId to) {
    const auto route = routes.find_route(from, to);
    return route ? classify(machine.topology, *route) : PathClass::none;
  };
  for (std::size_t i = 1; i < gpus.size(); ++i) {
    auto nearest = gpus.begin() + static_cast<std::ptrdiff_t>(i);
    PathClass least = distance(gpus[i - 1], *nearest);
    for (auto other = nearest + 1; other != gpus.end(); ++other)
      if (const PathClass far = distance(gpus[i - 1], *other); far < least)
        std::tie(nearest, least) = std::pair(other, far);
    std::rotate(gpus.begin() + static_cast<std::ptrdiff_t>(i), nearest, nearest + 1);
  }
  return gpus;
}

// Beside bridges a reversed twin of the ring uses the directions of PCIe that the ring leaves idle. The search
// takes it where it believes in more bandwidth, on some makers' processors not between sockets.
bool takes_twin(const Machine& machine, const HopSet& hops, const HopSet& twin,
                const NcclSettings& settings) {
  if (!hops.any_nvlink) return false;
  const int one_way = rules_of(machine).one_way_since;
  const bool barred = hops.any_sys && one_way > 0 && version_of(machine, settings) >= one_way;
  return !barred &&
         believed_gbps(machine, {&hops, &twin}, settings) > 1.1 * believed_gbps(machine, {&hops}, settings);
}

// Channels of at most 24 GB/s, each launched twice.
int pcie_blocks(double believed, std::size_t rings) {
  const int each = believed / static_cast<double>(rings) >= 24 ? 2 : 1;
  return 2 * each * static_cast<int>(rings);
}

// The slowest ring that the search tries (search.cc, 1051-1067). Where it finds none it takes the GPUs in order
// and believes in next to nothing: Simple is then chosen from a few kilobytes on.
constexpr double kNoRing = 0.1;
double slowest_tried(int sm) { return sm >= 100 ? 18 : 3; }

NodeRings pcie_rings(const Machine& machine, const std::vector<DeviceId>& gpus,
                     const NcclSettings& settings) {
  auto order = nearest_order(machine, gpus);
  HopSet hops = hops_of(machine, order, settings);
  std::reverse(order.begin() + 1, order.end());
  const HopSet twin = hops_of(machine, order, settings);
  std::vector<const HopSet*> both = {&hops};
  if (takes_twin(machine, hops, twin, settings)) both.push_back(&twin);
  NodeRings rings;
  rings.believed_gbps = believed_gbps(machine, both, settings);
  if (rings.believed_gbps < slowest_tried(machine.gpu.sm) * static_cast<double>(both.size())) {
    hops = hops_of(machine, gpus, settings);
    both = {&hops};
    rings.believed_gbps = kNoRing;
  }
  rings.link = hops.any_host ? NcclLink::host : NcclLink::pcie;
  rings.thread_blocks = pcie_blocks(rings.believed_gbps, both.size());
  for (const HopSet* one : both) add_route(machine, one->hops, rings);
  rings.nominal_gbps = rings.resources.empty() ? 0 : HUGE_VAL;
  for (const Resource& resource : rings.resources)
    if (resource.kind == ResourceKind::lane || resource.kind == ResourceKind::root_lane)
      rings.nominal_gbps = std::min(rings.nominal_gbps, resource.nominal_gbps);
  return rings;
}

void limit_blocks(NodeRings& rings, const NcclSettings& settings) {
  if (settings.least_channels) rings.thread_blocks = std::max(rings.thread_blocks, *settings.least_channels);
  if (settings.most_channels) rings.thread_blocks = std::min(rings.thread_blocks, *settings.most_channels);
  const double each = static_cast<double>(rings.thread_blocks) / static_cast<double>(rings.routes.size());
  for (std::size_t i = 0; i < rings.routes.size(); ++i) {
    for (auto* route : {&rings.routes[i], &rings.chains[i]})
      route->push_back(static_cast<int>(rings.resources.size()));
    rings.resources.push_back({ResourceKind::thread_blocks, each, 0, -1});
  }
}

}  // namespace

bool has_nvlink_ring(const Machine& machine, const std::vector<DeviceId>& gpus) {
  if (has_nvswitch(machine)) return nvlinks(machine, gpus[0], gpus[1]) > 0;
  Routes routes(machine.topology);
  std::vector<std::vector<bool>> joined(gpus.size(), std::vector<bool>(gpus.size()));
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t j = 0; j < gpus.size(); ++j) {
      const auto route = routes.find_route(gpus[i], gpus[j]);
      joined[i][j] = route && nvlinks_along(machine.topology, *route) > 0;
    }
  RingSearch search{joined, std::vector<std::size_t>(gpus.size())};
  std::iota(search.order.begin(), search.order.end(), std::size_t{0});
  return search.close(1);
}

NodeRings lay_rings(const Machine& machine, const std::vector<DeviceId>& gpus, const NcclSettings& settings) {
  if (gpus.size() < 2) return {};
  const bool straight = !settings.p2p_disabled && has_nvlink_ring(machine, gpus);
  NodeRings rings = straight ? nvlink_rings(machine, gpus) : pcie_rings(machine, gpus, settings);
  limit_blocks(rings, settings);
  rings.own = rings.routes.size();
  return rings;
}

double load_of(const NodeRings& rings, std::size_t resource) {
  double crossings = 0;
  for (const auto& route : rings.routes)
    crossings += static_cast<double>(std::count(route.begin(), route.end(), static_cast<int>(resource)));
  return crossings / static_cast<double>(rings.own);
}

void add_others(const NodeRings& others, NodeRings& rings) {
  std::vector<int> index;
  for (const Resource& one : others.resources) {
    const auto same = std::ranges::find(rings.resources, one);
    const bool shared = one.kind != ResourceKind::thread_blocks && same != rings.resources.end();
    index.push_back(static_cast<int>(shared ? same - rings.resources.begin() : rings.resources.size()));
    if (!shared) rings.resources.push_back(one);
  }
  const auto append = [&](const auto& from, auto& to) {
    for (std::size_t i = 0; i < others.own; ++i) {
      auto& route = to.emplace_back();
      for (const int at : from[i]) route.push_back(index[static_cast<std::size_t>(at)]);
    }
  };
  append(others.routes, rings.routes);
  append(others.chains, rings.chains);
}

}  // namespace gradwire

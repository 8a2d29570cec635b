#include "predict/nccl/ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "topo/path.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

// Copies through host memory run far below PCIe: the sending GPU writes to it and the receiving GPU reads
// from it with its own threads, whose reads wait for the host. GB/s, from measured all-reduces without peer
// access: two GPUs get 4.0 (RTX 2080 Ti, PCIe 3: autodl-2080ti-pix-nop2p), 3.9 (A40, PCIe 4:
// llminsights-a40-node-2gpu) and 3.85 (RTX 4090 far apart, PCIe 4: kalavai-4090-2gpu-k8s).
constexpr double kStagedFlow = 4.0;
// Both flows of neighbours that share an uplink: 8.0 (the same 2080 Ti), 4.5 (RTX 4090:
// kalavai-4090-2gpu-docker).
constexpr double kStagedUplink = 7.0;
// Four GPUs got 5.2 each (llminsights-dgxa100-4gpu-nop2p) and 2.58 (kalavai-4090-4gpu-k8s): 12 for a memory.
constexpr double kStagedMemory = 12.0;
// Between sockets 1.42 (llminsights-a40-sys-4gpu-nop2p) and 3.85 (the far 4090s): 2.3 in the geometric mean.
constexpr double kStagedSocket = 2.3;

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

// Of a GPU of which nothing is known, by the generation of its NVLink.
double nvlink_gbps(const Machine& machine) {
  const double known = machine.gpu.nccl_bytes_per_s_per_link;
  if (known > 0 || !machine.node.nvlink_gen) return known / kGiga;
  return nvlink_rate(machine.gpu, *machine.node.nvlink_gen, 1).nccl_bytes_per_s / kGiga;
}

// NCCL lays as many rings as every GPU has links to the others; both directions of a link are used.
NodeRing nvlink_ring(const Machine& machine, const std::vector<DeviceId>& gpus) {
  const double per_link = nvlink_gbps(machine);
  if (has_nvswitch(machine)) {
    const int links = nvlinks(machine, gpus[0], gpus[1]);
    return {NcclLink::nvswitch, links * per_link, fmt::format("{} NVLinks of each GPU to NVSwitch", links)};
  }
  int fewest = 0;
  DeviceId weakest = gpus[0];
  for (const DeviceId gpu : gpus) {
    int links = 0;
    for (const DeviceId other : gpus) links += gpu == other ? 0 : nvlinks(machine, gpu, other);
    if (fewest == 0 || links < fewest) std::tie(fewest, weakest) = std::pair(links, gpu);
  }
  return {NcclLink::nvlink, fewest * per_link,
          fmt::format("{} NVLinks of {}", fewest, device_name(machine.topology, weakest))};
}

// NCCL's order over PCIe: from each GPU on to the nearest that is left.
std::vector<DeviceId> nearest_order(const Machine& machine, std::vector<DeviceId> gpus) {
  for (std::size_t i = 1; i < gpus.size(); ++i) {
    const auto nearest = std::min_element(
        gpus.begin() + static_cast<std::ptrdiff_t>(i), gpus.end(), [&](DeviceId a, DeviceId b) {
          return classify(machine.topology, gpus[i - 1], a) < classify(machine.topology, gpus[i - 1], b);
        });
    std::rotate(gpus.begin() + static_cast<std::ptrdiff_t>(i), nearest, nearest + 1);
  }
  return gpus;
}

struct Load {
  int straight = 0, staged = 0;
};

// What a link gives each hop that crosses it.
double share_of(const Link& link, const Load& load) {
  const double fast = link.rate.nccl_bytes_per_s > 0 ? link.rate.nccl_bytes_per_s : link.rate.bytes_per_s;
  double share = fast / kGiga / (load.straight + load.staged);
  if (load.staged > 1 && link.kind == LinkKind::pcie) share = std::min(share, kStagedUplink / load.staged);
  if (load.staged > 0 && link.kind == LinkKind::socket) share = std::min(share, kStagedSocket / load.staged);
  if (load.staged > 1 && link.kind == LinkKind::memory) share = std::min(share, kStagedMemory / load.staged);
  return share;
}

std::string crossings(const Load& load) {
  const int count = load.straight + load.staged;
  return count == 1 ? "" : fmt::format(", shared by {} hops", count);
}

NodeRing pcie_ring(const Machine& machine, const std::vector<DeviceId>& gpus, bool p2p_disabled) {
  std::map<LinkId, Load> loads;
  NodeRing ring{NcclLink::pcie, 0, ""};
  const auto order = nearest_order(machine, gpus);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const DeviceId from = order[i], to = order[(i + 1) % order.size()];
    const Path path = find_path(machine, from, to);
    const bool staged = path.through_host || p2p_disabled;
    if (staged) ring = {NcclLink::host, kStagedFlow, "copies through host memory by the GPUs' own threads"};
    for (const LinkId link : staged ? staged_route(machine.topology, from, to) : path.links)
      ++(staged ? loads[link].staged : loads[link].straight);
  }
  for (const auto& [id, load] : loads) {
    const double share = share_of(machine.topology.link(id), load);
    if (ring.gbps > 0 && share >= ring.gbps) continue;
    ring.gbps = share;
    ring.narrowest = link_name(machine.topology, id) + crossings(load);
  }
  return ring;
}

}  // namespace

bool has_nvlink_ring(const Machine& machine, const std::vector<DeviceId>& gpus) {
  if (has_nvswitch(machine)) return nvlinks(machine, gpus[0], gpus[1]) > 0;
  std::vector<std::vector<bool>> joined(gpus.size(), std::vector<bool>(gpus.size()));
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t j = 0; j < gpus.size(); ++j)
      joined[i][j] = i != j && nvlinks(machine, gpus[i], gpus[j]) > 0;
  RingSearch search{joined, std::vector<std::size_t>(gpus.size())};
  std::iota(search.order.begin(), search.order.end(), std::size_t{0});
  return search.close(1);
}

NodeRing best_ring(const Machine& machine, const std::vector<DeviceId>& gpus, bool p2p_disabled) {
  if (gpus.size() < 2) return {};
  if (!p2p_disabled && has_nvlink_ring(machine, gpus)) return nvlink_ring(machine, gpus);
  return pcie_ring(machine, gpus, p2p_disabled);
}

}  // namespace gradwire

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "topo/build/node.h"
#include "topo/path.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

constexpr int kMostLinks = 18;  // a GPU has had so far; more in a matrix means an NVSwitch

int nvlinks_in_cell(const TopoMatrix& matrix, std::size_t i, std::size_t j) {
  const auto count = [](std::string_view cell) {
    return cell.starts_with("NV") ? find_integer<int>(cell.substr(2)).value_or(0) : 0;
  };
  return std::max(count(matrix.cells[i][j]), count(matrix.cells[j][i]));
}

using Counts = std::vector<std::vector<int>>;

Counts nvlinks_of(const TopoMatrix& matrix) {
  const auto gpus = static_cast<std::size_t>(matrix.gpus);
  Counts counts(gpus, std::vector<int>(gpus, 0));
  for (std::size_t i = 0; i < gpus; ++i)
    for (std::size_t j = 0; j < gpus; ++j)
      if (i != j) counts[i][j] = nvlinks_in_cell(matrix, i, j);
  return counts;
}

// The GPUs with NVLinks to this one, and itself.
std::vector<std::size_t> joined_to(const Counts& counts, std::size_t gpu) {
  std::vector<std::size_t> group;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (i == gpu || counts[gpu][i] > 0) group.push_back(i);
  return group;
}

// All links of a group direct would need more of them than a GPU has: then there is a switch, and a cell is
// what a GPU has to it. Two GPUs of a board that is sold with NVSwitch, at full width, are taken for a part
// of such a board.
bool is_switched(const ResolvedNode& node, const Counts& counts, const std::vector<std::size_t>& group) {
  const int has = node.gpu.nvlink_links > 0 ? node.gpu.nvlink_links : kMostLinks;
  for (const std::size_t gpu : group)
    if (joined_to(counts, gpu) != group) return false;
  const auto& row = counts[group.front()];
  const bool board =
      node.gpu.nvswitch && group.size() == counts.size() && *std::max_element(row.begin(), row.end()) >= has;
  return group.size() > 1 &&
         (board || (group.size() > 2 && std::accumulate(row.begin(), row.end(), 0) > has));
}

NvlinkPlan plan_by_matrix(const ResolvedNode& node) {
  const Counts counts = nvlinks_of(*node.spec.matrix);
  NvlinkPlan plan;
  int switches = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::vector<std::size_t> group = joined_to(counts, i);
    const bool switched = is_switched(node, counts, group);
    for (std::size_t j = i + 1; j < counts.size() && !switched; ++j)
      if (counts[i][j] > 0) plan.bonds.push_back({static_cast<int>(i), static_cast<int>(j), counts[i][j]});
    if (!switched || group.front() != i) continue;
    for (const std::size_t gpu : group)
      plan.ports.push_back(
          {static_cast<int>(gpu), switches, *std::max_element(counts[gpu].begin(), counts[gpu].end())});
    ++switches;
  }
  return plan;
}

// Two quads, each fully joined, and a link from each GPU to its counterpart. V100 has six links for the four
// neighbours of P100: two of them are doubled.
NvlinkPlan hybrid_cube_mesh(const Gpu& gpu) {
  const int two = gpu.nvlink_links >= 6 ? 2 : 1;
  NvlinkPlan plan;
  for (const int quad : {0, 4}) {
    const int a = quad, b = quad + 1, c = quad + 2, d = quad + 3;
    for (const NvlinkBond& bond :
         {NvlinkBond{a, b, 1}, {a, c, 1}, {a, d, two}, {b, c, two}, {b, d, 1}, {c, d, two}})
      plan.bonds.push_back(bond);
  }
  for (const NvlinkBond& bond : {NvlinkBond{0, 4, two}, {1, 5, two}, {2, 6, 1}, {3, 7, 1}})
    plan.bonds.push_back(bond);
  return plan;
}

NvlinkPlan plan_mesh(const ResolvedNode& node) {
  if (!node.spec.nvlinks.empty()) return {.bonds = node.spec.nvlinks, .ports = {}};
  const int gpus = node.total_gpus;
  const int each = *node.spec.nvlink_links_per_gpu / std::max(1, gpus - 1);
  const int per_pair = node.spec.nvlink_links_per_pair.value_or(each);
  if (!node.spec.nvlink_links_per_pair && gpus == 8 && node.gpu.nvlink_gen <= 2)
    return hybrid_cube_mesh(node.gpu);
  if (per_pair < 1)
    throw ConfigError(
        fmt::format("an NVLink mesh of {} GPUs with {} links each needs nvlink_links_per_pair, nvlinks or "
                    "a matrix to say who is joined to whom",
                    gpus, *node.spec.nvlink_links_per_gpu));
  NvlinkPlan plan;
  for (int i = 0; i < gpus; ++i)
    for (int j = 0; j < i; ++j) plan.bonds.push_back({j, i, per_pair});
  return plan;
}

NvlinkPlan plan_pairs(const ResolvedNode& node) {
  const int links = node.spec.nvlink_links_per_pair.value_or(*node.spec.nvlink_links_per_gpu);
  NvlinkPlan plan;
  for (int i = 0; i + 1 < node.total_gpus; i += 2) plan.bonds.push_back({i, i + 1, links});
  return plan;
}

// Beside what a matrix shows, between GPUs of which it shows none.
void add_bridges(const std::vector<NvlinkBond>& bridges, NvlinkPlan& plan) {
  const auto has_links = [&](int gpu) {
    return std::ranges::any_of(plan.bonds, [&](const auto& b) { return b.gpu == gpu || b.peer == gpu; }) ||
           std::ranges::any_of(plan.ports, [&](const auto& port) { return port.gpu == gpu; });
  };
  for (const NvlinkBond& bridge : bridges)
    if (!has_links(bridge.gpu) && !has_links(bridge.peer)) plan.bonds.push_back(bridge);
}

void check_bonds(const NvlinkPlan& plan, int gpus) {
  for (const NvlinkBond& bond : plan.bonds)
    if (bond.gpu < 0 || bond.peer < 0 || bond.gpu >= gpus || bond.peer >= gpus || bond.gpu == bond.peer ||
        bond.links < 1)
      throw ConfigError(
          fmt::format("nvlinks [{}, {}, {}]: it must be two different GPUs of 0 to {} and their links",
                      bond.gpu, bond.peer, bond.links, gpus - 1));
}

}  // namespace

NvlinkPlan plan_nvlinks(const ResolvedNode& node) {
  if (*node.spec.intra == Intra::pcie || node.total_gpus == 1) return {};
  if (node.spec.matrix) {  // bridges may be asked for beside a matrix that has none
    auto plan = plan_by_matrix(node);
    add_bridges(node.spec.nvlinks, plan);
    const bool none = plan.bonds.empty() && plan.ports.empty();
    if (!none || *node.spec.intra != Intra::nvlink_pairs) return plan;
  }
  if (*node.spec.intra == Intra::nvlink_mesh) return plan_mesh(node);
  if (*node.spec.intra == Intra::nvlink_pairs) return plan_pairs(node);
  NvlinkPlan plan;
  for (int i = 0; i < node.total_gpus; ++i) plan.ports.push_back({i, 0, *node.spec.nvlink_links_per_gpu});
  return plan;
}

void add_nvlinks(const ResolvedNode& node, Topology& topology) {
  const NvlinkPlan plan = plan_nvlinks(node);
  const std::vector<DeviceId> gpus = topology.find_devices(DeviceKind::gpu, 0);
  check_bonds(plan, static_cast<int>(gpus.size()));
  const auto join = [&](DeviceId from, DeviceId to, int links) {
    if (links < 1) return;
    topology.add_cable({.kind = LinkKind::nvlink,
                        .from = from,
                        .to = to,
                        .generation = *node.spec.nvlink_gen,
                        .width = links,
                        .rate = nvlink_rate(node.gpu, *node.spec.nvlink_gen, links)});
  };
  for (const NvlinkBond& bond : plan.bonds)
    join(gpus[static_cast<std::size_t>(bond.gpu)], gpus[static_cast<std::size_t>(bond.peer)], bond.links);
  std::vector<DeviceId> switches;
  for (const NvlinkPlan::Port& port : plan.ports) {
    if (static_cast<std::size_t>(port.nvswitch) == switches.size())
      switches.push_back(topology.add_device({.name = fmt::format("NVS{}", port.nvswitch),
                                              .kind = DeviceKind::nvswitch,
                                              .node = 0,
                                              .model = {}}));
    join(gpus[static_cast<std::size_t>(port.gpu)], switches[static_cast<std::size_t>(port.nvswitch)],
         port.links);
  }
}

}  // namespace gradwire

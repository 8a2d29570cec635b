#include "topo/build/resolve.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr int kMostGpus = 1024;  // of one node; NVL72 has 72

Gpu unknown_gpu() {
  Gpu gpu;
  gpu.name = "GPU";
  gpu.pcie_gen = 3;
  gpu.pcie_p2p = true;
  return gpu;
}

void resolve_gpu(ResolvedNode& node) {
  if (node.spec.gpu_facts) {
    node.gpu = *node.spec.gpu_facts;
  } else if (node.spec.gpu.empty()) {
    node.gpu = unknown_gpu();
    node.notes.emplace_back("the GPU is not stated: taken as one with peer access over PCIe");
  } else {
    node.gpu = find_gpu(node.spec.gpu);
  }
  node.spec.gpu = node.gpu.id;
}

void resolve_count(ResolvedNode& node) {
  NodeSpec& spec = node.spec;
  const int highest =
      spec.gpu_indices.empty() ? 0 : *std::max_element(spec.gpu_indices.begin(), spec.gpu_indices.end()) + 1;
  node.total_gpus = spec.matrix ? spec.matrix->gpus : std::max(spec.gpus, highest);
  if (spec.gpus < 1 || spec.gpus > kMostGpus)
    throw ConfigError(fmt::format("a node has 1 to {} GPUs, not {}", kMostGpus, spec.gpus));
  if (spec.gpus > node.total_gpus || highest > node.total_gpus)
    throw ConfigError(fmt::format("{} GPUs are asked for but the matrix has {}", std::max(spec.gpus, highest),
                                  node.total_gpus));
  if (spec.gpu_indices.empty()) {
    spec.gpu_indices.resize(static_cast<std::size_t>(spec.gpus));
    std::iota(spec.gpu_indices.begin(), spec.gpu_indices.end(), 0);
  }
  std::vector<int> sorted = spec.gpu_indices;
  std::sort(sorted.begin(), sorted.end());
  if (static_cast<int>(sorted.size()) < spec.gpus || sorted.front() < 0 ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw ConfigError(fmt::format("gpu_indices must name {} different GPUs", spec.gpus));
  spec.gpu_indices.resize(static_cast<std::size_t>(spec.gpus));
}

bool states_widths(const NodeSpec& spec) {
  return spec.pcie_width || (spec.pcie && !spec.pcie->slot_widths.empty());
}

// NVLink hides a pair's way over PCIe; then their affinity tells.
bool on_one_bridge(const TopoMatrix& matrix) {
  const std::string& cell = matrix.cells[0][1];
  const auto alike = [](const std::vector<std::string>& of) { return of.size() < 2 || of[0] == of[1]; };
  return cell == "PHB" ||
         (cell.starts_with("NV") && alike(matrix.numa_affinity) && alike(matrix.cpu_affinity));
}

bool on_one_bridge(const PcieLayout& layout) {
  const auto both = [](int gpus) { return gpus == 0 || gpus >= 2; };
  return layout.gpus_per_switch == 0 && both(layout.gpus_per_bridge) && both(layout.gpus_per_socket);
}

bool states_server(const NodeSpec& spec) {
  return spec.cpu_model.empty() ? spec.cpu.has_value() : !find_processor(spec.cpu_model).desktop;
}

// Two cards on the host bridge of a desktop share its 16 lanes. Several bridges, switches and a stated processor, unless it
// is for desktops, are a server's.
bool shares_lanes(const ResolvedNode& node) {
  const NodeSpec& spec = node.spec;
  if (!node.gpu.desktop || node.total_gpus != 2 || states_server(spec)) return false;
  if (spec.matrix) return on_one_bridge(*spec.matrix);
  return !spec.pcie || on_one_bridge(*spec.pcie);
}

// Cards for servers are put where they have all their lanes; of those for desktops it can't be known.
void assume_lanes(ResolvedNode& node) {
  if (states_widths(node.spec) || !node.gpu.desktop || node.total_gpus < 2) return;
  node.spec.lanes_assumed = shares_lanes(node);
  node.spec.pcie_width = node.spec.lanes_assumed ? 8 : node.gpu.pcie_width;
  node.notes.push_back(fmt::format("slots are not stated: taken as x{} each, as {} have them",
                                   *node.spec.pcie_width,
                                   node.spec.lanes_assumed ? "two cards of a desktop" : "servers"));
}

void resolve_pcie(ResolvedNode& node) {
  assume_lanes(node);
  if (!node.spec.pcie_gen && node.spec.gpu.empty())
    node.notes.emplace_back("PCIe is not stated: taken as generation 3");
  node.spec.pcie_gen = node.spec.pcie_gen.value_or(node.gpu.pcie_gen);
  node.spec.pcie_width = node.spec.pcie_width.value_or(node.gpu.pcie_width);
  node.spec.p2p = node.spec.p2p.value_or(node.gpu.pcie_p2p);
}

void resolve_cpu(ResolvedNode& node) {
  NodeSpec& spec = node.spec;
  if (!spec.cpu && node.gpu.c2c_bytes_per_s > 0) spec.cpu = CpuMaker::grace;
  if (spec.cpu == CpuMaker::unknown) spec.cpu.reset();
  if (!spec.cpu_model.empty()) {
    node.cpu = find_processor(spec.cpu_model);
    spec.cpu = node.cpu.maker;
    return;
  }
  node.cpu = usual_processor(spec.cpu, *spec.pcie_gen);
  spec.cpu_model = node.cpu.id;
  if (spec.cpu != CpuMaker::grace)
    node.notes.push_back(
        fmt::format("the processor is not stated: taken as {}{}", node.cpu.title,
                    spec.lanes_assumed ? "; two slots of x8 do not fill a desktop's memory either" : ""));
  if (!spec.cpu) spec.cpu = CpuMaker::unknown;
}

bool has_nvlinks(const TopoMatrix& matrix) {
  for (const auto& row : matrix.cells)
    for (const auto& cell : row)
      if (cell.starts_with("NV")) return true;
  return false;
}

Intra usual_intra(const ResolvedNode& node) {
  if (node.spec.matrix) return has_nvlinks(*node.spec.matrix) ? Intra::nvlink_mesh : Intra::pcie;
  if (!node.spec.nvlinks.empty() || node.spec.nvlink_links_per_pair) return Intra::nvlink_mesh;
  if (node.total_gpus == 1 || node.gpu.nvlink_links < 4) return Intra::pcie;
  if (node.gpu.nvswitch) return Intra::nvswitch;
  return node.gpu.nvlink_mesh ? Intra::nvlink_mesh : Intra::pcie;  // bridges are not assumed
}

void resolve_nvlink(ResolvedNode& node) {
  NodeSpec& spec = node.spec;
  if (!spec.intra) {
    spec.intra = usual_intra(node);
    if (!spec.matrix && node.total_gpus > 1)
      node.notes.push_back(
          fmt::format("how the GPUs are joined is not stated: taken as {}", to_string(*spec.intra)));
  }
  spec.nvlink_gen = spec.nvlink_gen.value_or(node.gpu.nvlink_gen);
  spec.nvlink_links_per_gpu = spec.nvlink_links_per_gpu.value_or(node.gpu.nvlink_links);
  if (*spec.intra == Intra::pcie || node.total_gpus == 1) return;
  if (*spec.nvlink_gen == 0 && spec.matrix) {
    spec.nvlink_gen = 3;
    if (!node.gpu.id.empty())
      node.notes.push_back(fmt::format(
          "the matrix has NVLinks (NV#), and {} has no connector for one: either the matrix is of other "
          "GPUs or these are others; the links are taken as the matrix has them, of generation 3",
          node.gpu.name));
  }
  if (*spec.nvlink_gen == 0)
    throw ConfigError(
        fmt::format("{} has no NVLink: ask for pcie", node.gpu.id.empty() ? "this GPU" : node.gpu.id));
}

// Four, or as many as have sixteen lanes each where one socket has 128 and keeps some for the rest.
int usual_per_socket(const ResolvedNode& node) {
  constexpr int kUsual = 4, kOfManyLanes = 7;
  const bool all_on_one = maker_rules(*node.spec.cpu).one_socket && node.total_gpus <= kOfManyLanes;
  return all_on_one ? std::max(kUsual, node.total_gpus) : kUsual;
}

// Two cards in a workstation share a host bridge; servers give each GPU its own. Boards with NVLink pair GPUs
// under switches.
PcieLayout usual_layout(const ResolvedNode& node) {
  PcieLayout layout;
  if (node.gpu.nvswitch || (*node.spec.intra == Intra::nvlink_mesh && node.gpu.nvlink_gen <= 2)) {
    layout.gpus_per_switch = 2;
    layout.gpus_per_bridge = node.gpu.nvlink_gen <= 2 ? 4 : 2;
    layout.gpus_per_socket = 4;
  } else {
    layout.gpus_per_bridge = node.total_gpus <= 2 ? 2 : 1;
    layout.gpus_per_socket = usual_per_socket(node);
  }
  if (node.spec.cpu == CpuMaker::grace) {
    layout.gpus_per_switch = 0;
    layout.gpus_per_bridge = 1;
    layout.gpus_per_socket = node.gpu.gpus_per_cpu;
  }
  return layout;
}

// NVLinks between all hide the PCIe tree of a matrix.
bool hides_pcie(const TopoMatrix& matrix) {
  for (const auto& row : matrix.cells)
    for (const auto& cell : row)
      if (cell != "X" && !cell.starts_with("NV")) return false;
  return true;
}

void resolve_layout(ResolvedNode& node) {
  if (node.spec.pcie || (node.spec.matrix && !hides_pcie(*node.spec.matrix))) return;
  node.spec.pcie = usual_layout(node);
  node.spec.pcie_assumed = true;
  if (node.total_gpus > 1)
    node.notes.emplace_back("the PCIe tree is not stated: taken as usual for such nodes");
}

}  // namespace

ResolvedNode resolve(const NodeSpec& spec, const std::optional<NetworkSpec>& network) {
  ResolvedNode node;
  node.spec = spec;
  resolve_gpu(node);
  resolve_count(node);
  resolve_pcie(node);
  resolve_cpu(node);
  resolve_nvlink(node);
  resolve_layout(node);
  if (network || spec.network) node.spec.network = resolve_network(node, network);
  return node;
}

}  // namespace gradwire

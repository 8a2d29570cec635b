#include "topo/import/this_machine.h"

#include <algorithm>

#include "base/error.h"
#include "topo/build/node.h"
#include "topo/build/resolve.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

std::string nvlink_cell(int links) { return fmt::format("NV{}", links); }

void enter(TopoMatrix& matrix, int i, int j, const std::string& cell) {
  matrix.cells[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = cell;
  matrix.cells[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)] = cell;
}

// Links to an NVSwitch join a GPU to every other GPU that has some.
void enter_nvlinks(const Host& host, TopoMatrix& matrix) {
  for (const HostNvlink& link : host.nvlinks) {
    if (link.peer >= 0) {
      enter(matrix, link.gpu, link.peer, nvlink_cell(link.links));
      continue;
    }
    for (const HostNvlink& other : host.nvlinks)
      if (other.peer < 0 && other.gpu != link.gpu)
        enter(matrix, link.gpu, other.gpu, nvlink_cell(std::min(link.links, other.links)));
  }
}

TopoMatrix matrix_of(const Host& host) {
  std::vector<const HostDevice*> devices;
  for (const HostDevice& gpu : host.gpus) devices.push_back(&gpu);
  for (const HostDevice& nic : host.nics) devices.push_back(&nic);
  TopoMatrix matrix;
  matrix.gpus = static_cast<int>(host.gpus.size());
  for (const HostDevice* device : devices) {
    matrix.names.push_back(device->name);
    matrix.cells.emplace_back();
    for (const HostDevice* other : devices)
      matrix.cells.back().emplace_back(device == other ? "X" : to_string(pci_relation(*device, *other)));
  }
  for (const HostDevice& gpu : host.gpus) matrix.numa_affinity.push_back(fmt::format("{}", gpu.numa));
  for (const HostDevice& nic : host.nics) matrix.nic_models.push_back(nic.model);
  enter_nvlinks(host, matrix);
  return matrix;
}

std::optional<NetworkSpec> network_of(const Host& host) {
  if (host.nics.empty()) return std::nullopt;
  NetworkSpec network;
  network.nics_per_node = static_cast<int>(host.nics.size());
  for (const HostDevice& nic : host.nics)
    if (nic.gbit > 0) network.gbit_per_nic = std::max(network.gbit_per_nic.value_or(0), nic.gbit);
  const bool rdma = std::any_of(host.nics.begin(), host.nics.end(),
                                [](const HostDevice& nic) { return nic.model.starts_with("mlx"); });
  network.kind = rdma ? NetworkKind::infiniband : NetworkKind::ethernet;
  return network;
}

PcieLayout slots_of(const Host& host) {
  PcieLayout layout;
  layout.sockets = host.numa_nodes;
  for (const HostDevice& gpu : host.gpus) {
    layout.slot_widths.push_back(gpu.pcie_width);
    layout.slot_gens.push_back(gpu.pcie_gen);
  }
  for (const HostDevice& nic : host.nics) {
    layout.card_widths.push_back(nic.pcie_width);
    layout.card_gens.push_back(nic.pcie_gen);
  }
  return layout;
}

NodeSpec spec_of(const Host& host) {
  NodeSpec spec;
  spec.name = host.name;
  spec.matrix = matrix_of(host);
  spec.gpus = static_cast<int>(host.gpus.size());
  spec.pcie = slots_of(host);
  spec.cpu_model = processor_of(host.cpu_vendor, host.cpu_family, host.cpu_model).id;
  spec.network = network_of(host);
  if (host.gpus.empty()) return spec;
  if (const auto gpu = find_gpu_by_name(host.gpus[0].model)) spec.gpu = gpu->id;
  if (host.gpus[0].pcie_gen > 0) spec.pcie_gen = host.gpus[0].pcie_gen;
  if (host.gpus[0].pcie_width > 0) spec.pcie_width = host.gpus[0].pcie_width;
  return spec;
}

// What resolve() fills in about GPUs does not apply.
ResolvedNode without_gpus(const NodeSpec& spec) {
  ResolvedNode node;
  node.spec = spec;
  node.cpu = find_processor(spec.cpu_model);
  node.spec.cpu = node.cpu.maker;
  node.spec.intra = Intra::pcie;
  node.spec.p2p = false;
  node.spec.pcie_gen = node.cpu.pcie_gen;
  node.spec.pcie_width = 16;
  if (node.spec.network && !node.spec.network->gbit_per_nic) node.spec.network->gbit_per_nic = 10;
  return node;
}

}  // namespace

// One switch between: its upstream port is the last common bridge, and each device is below a downstream port
// of it.
PathClass pci_relation(const HostDevice& a, const HostDevice& b) {
  const auto& x = a.bridges;
  const auto& y = b.bridges;
  const auto common =
      static_cast<std::size_t>(std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin());
  if (common == 0) return a.numa == b.numa ? PathClass::node : PathClass::sys;
  if (common == 1) return PathClass::phb;  // the root bus alone
  return x.size() - common <= 2 && y.size() - common <= 2 ? PathClass::pix : PathClass::pxb;
}

Machine machine_of_host(const Host& host, const HostOptions& options) {
  const NodeSpec spec = spec_of(host);
  const ResolvedNode node = host.gpus.empty() ? without_gpus(spec) : resolve(spec, options.network);
  if (host.gpus.empty() && options.nodes > 1)
    throw ConfigError("this machine has no GPU: several of it are of no use");
  Machine machine = assemble(node, build_node(node), options.nodes);
  machine.source = "this machine";
  machine.facts = host.facts;
  machine.notes = host.notes;
  for (const HostDevice& nic : host.nics)
    if (nic.pcie_gen == 0)
      machine.notes.push_back(
          fmt::format("the PCIe link of {} ({}) is not told, as in virtual machines: taken as PCIe {} x16",
                      nic.name, nic.model, *node.spec.pcie_gen));
  machine.notes.push_back(fmt::format(
      "memory rates are those of {} with all memory channels filled: not measured here", node.cpu.title));
  machine.notes.insert(machine.notes.end(), node.notes.begin(), node.notes.end());
  return machine;
}

Machine this_machine(const HostOptions& options) { return machine_of_host(probe_host(), options); }

}  // namespace gradwire

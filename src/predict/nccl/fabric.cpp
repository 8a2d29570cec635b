#include "predict/nccl/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "predict/nccl/ring.h"
#include "topo/path.h"

namespace gradwire {
namespace {

// Of the nominal rate, what NCCL gets with GPUDirect: records azure-nd96amsr-2node .94,
// oci-oke-bm.gpu.b4.8-2node .95, gcp-a3mega-2node .91, aws-2x-p4de .84, stas-b200-4node .95.
constexpr double kNetworkShare = 0.92;

// Without GPUDirect data is copied through host memory; what one card then gets follows the host: 2.6 GB/s
// with PCIe 3 (aws-p3dn-2node-efa; jeanzay-all_reduce_bench-32gb-n4 has 2.65 on each of 4), 6.4 with PCIe 4
// (ncclt-293-a100pcie- 2node-hdr), 15 with PCIe 5 (moc-h100-roce-1gpu): 2.4 times for each generation.
constexpr double kStagedCardPcie3 = 2.6, kStagedCardGrowth = 2.4;

int pcie_gen(const Machine& machine) {
  return machine.node.pcie_gen.value_or(std::max(machine.gpu.pcie_gen, 3));
}

double pcie_gbps(const Machine& machine) {
  const int width = machine.node.pcie_width.value_or(16);
  return 12.0 * std::exp2(pcie_gen(machine) - 3) * width / 16;  // as NCCL counts: topo.cc, 545-556
}

// GPUDirect across sockets is as slow as a copy, or slower.
bool far_from_card(const Machine& machine) {
  const auto cards = machine.topology.nearest(machine.gpus.front(), DeviceKind::nic);
  return !cards.empty() && classify(machine.topology, machine.gpus.front(), cards.front()) == PathClass::sys;
}

// Peer to peer through an Intel root complex costs 6/5 of the bandwidth (NCCL's topo.h, 39).
constexpr double kIntelPenalty = 1.2;

// A lone card for more GPUs than hang under one PCIe switch is reached over the root complex by most of them.
bool behind_root_complex(const Machine& machine, int cards) {
  return machine.cpu == CpuMaker::intel && machine.gpus_per_node() > 4 * cards;
}

void add_network(const Machine& machine, const NcclSettings& settings, NcclFabric& fabric) {
  const NetworkSpec& network = *machine.network;
  const double gbit = network.gbit_per_nic.value_or(100);
  const int cards = network.nics_per_node.value_or(1);
  const bool direct = settings.gpudirect.value_or(network.gpudirect.value_or(false));
  fabric.network = network.kind.value_or(NetworkKind::ethernet);
  fabric.staged_network = !direct || (machine.gpus_per_node() == 1 && far_from_card(machine));
  const double slot = fabric.pcie_gbps / (behind_root_complex(machine, cards) ? kIntelPenalty : 1);
  double card = std::min(gbit / 8, slot) * kNetworkShare;
  if (fabric.staged_network)
    card = std::min(card, kStagedCardPcie3 * std::pow(kStagedCardGrowth, pcie_gen(machine) - 3));
  fabric.network_nominal_gbps = gbit / 8 * cards;
  fabric.network_gbps = std::min(card * cards, fabric.pcie_gbps * fabric.ranks_per_node);
  fabric.network_name = fmt::format("{} x {:g} Gbit/s {}{}", cards, gbit, to_string(*fabric.network),
                                    fabric.staged_network ? " through host memory" : "");
}

}  // namespace

NcclFabric nccl_fabric(const Machine& machine, const NcclSettings& settings) {
  NcclFabric fabric;
  fabric.machine = machine.node.name;
  fabric.ranks = static_cast<int>(machine.gpus.size());
  fabric.nodes = machine.nodes;
  fabric.ranks_per_node = fabric.ranks / fabric.nodes;
  fabric.sm = machine.gpu.sm;
  fabric.pcie_gbps = pcie_gbps(machine);
  const std::vector<DeviceId> gpus(machine.gpus.begin(), machine.gpus.begin() + fabric.ranks_per_node);
  const NodeRing ring = best_ring(machine, gpus, settings.p2p_disabled);
  fabric.link = ring.link;
  fabric.node_gbps = ring.gbps;
  fabric.narrowest = ring.narrowest;
  // NVLS from five GPUs on: observed by stas00/ml-engineering on H100 nodes.
  fabric.nvls =
      ring.link == NcclLink::nvswitch && fabric.sm >= 90 && fabric.ranks_per_node > 4 && settings.nvls;
  if (fabric.nodes > 1) add_network(machine, settings, fabric);
  return fabric;
}

std::string_view to_string(NcclLink link) {
  switch (link) {
    case NcclLink::none:
      return "none";
    case NcclLink::nvswitch:
      return "NVLink through NVSwitch";
    case NcclLink::nvlink:
      return "NVLink";
    case NcclLink::pcie:
      return "PCIe peer to peer";
    case NcclLink::host:
      return "host memory";
  }
  return "";
}

std::string path_name(const NcclFabric& fabric) {
  const std::string inside(to_string(fabric.link));
  if (fabric.nodes == 1) return inside;
  const std::string network =
      fmt::format("{}{}", to_string(*fabric.network), fabric.staged_network ? " through host memory" : "");
  return fabric.ranks_per_node == 1 ? network : inside + " + " + network;
}

}  // namespace gradwire

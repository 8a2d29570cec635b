#include "predict/nccl/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "predict/nccl/version.h"
#include "topo/path.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

// GPUDirect across sockets is as slow as a copy, or slower.
bool far_from_card(const Machine& machine, DeviceId gpu) {
  const auto cards = machine.topology.nearest(gpu, DeviceKind::nic);
  return !cards.empty() && classify(machine.topology, gpu, cards.front()) == PathClass::sys;
}

// A lone card for more GPUs than hang under one PCIe switch is reached over the root complex by most of them.
bool behind_root_complex(const Machine& machine, int cards) { return machine.gpus_per_node() > 4 * cards; }

}  // namespace

double slot_gbps(const Machine& machine) {
  const int generation = machine.node.pcie_gen.value_or(std::max(machine.gpu.pcie_gen, 3));
  return pcie_rate(generation, machine.node.pcie_width.value_or(16)).nominal_bytes_per_s / 1e9;
}

void add_network(const Machine& machine, DeviceId gpu, NcclFabric& fabric) {
  const NetworkSpec& network = *machine.network;
  const double gbit = network.gbit_per_nic.value_or(100);
  const int cards = network.nics_per_node.value_or(1);
  const bool direct = fabric.settings.gpudirect.value_or(network.gpudirect.value_or(false));
  fabric.network = network.kind.value_or(NetworkKind::ethernet);
  fabric.staged_network = !direct || (fabric.ranks_per_node == 1 && far_from_card(machine, gpu));
  // What reaches a card over the root complex comes in smaller packets; 12 of 15.75 GB/s is NCCL's count.
  const double slot = fabric.slot_gbps * 12 / 15.75 /
                      (behind_root_complex(machine, cards) ? maker_rules(machine.cpu).root_cost : 1);
  fabric.cards = cards;
  fabric.card_gbps = std::min(gbit / 8, slot);
  // Of a card, what sockets reach is what topo shows.
  if (fabric.network == NetworkKind::ethernet && !direct && network.gbit_per_nic)
    fabric.socket_gbps = network_rate(network).bytes_per_s / 1e9;
  fabric.network_nominal_gbps = gbit / 8 * cards;
  fabric.network_name = fmt::format("{} x {:g} Gbit/s {}", cards, gbit, to_string(*fabric.network));
}

// From five GPUs on: observed by stas00/ml-engineering on H100 nodes.
bool reduces_in_switch(const NcclFabric& fabric) {
  return fabric.link() == NcclLink::nvswitch && fabric.sm >= 90 && fabric.ranks_per_node > 4 &&
         fabric.settings.nvls;
}

NcclFabric nccl_fabric(const Machine& machine, const NcclSettings& settings) {
  NcclFabric fabric;
  fabric.ranks = static_cast<int>(machine.gpus.size());
  fabric.nodes = machine.nodes;
  fabric.ranks_per_node = fabric.ranks / fabric.nodes;
  fabric.sm = machine.gpu.sm;
  fabric.settings = settings_on(machine, settings);
  fabric.slot_gbps = slot_gbps(machine);
  const std::vector<DeviceId> gpus(machine.gpus.begin(), machine.gpus.begin() + fabric.ranks_per_node);
  fabric.rings = lay_rings(machine, gpus, settings);
  fabric.nvls = reduces_in_switch(fabric);
  if (fabric.nodes > 1) add_network(machine, machine.gpus.front(), fabric);
  return fabric;
}

std::string scope_of(const NcclFabric& fabric) {
  if (fabric.nodes > 1) return fabric.staged_network ? "staged network" : "network";
  if (fabric.nvls) return "nvls";
  constexpr std::array kScopes = {"host memory", "nvswitch", "nvlink direct", "pcie", "host memory"};
  return kScopes.at(static_cast<std::size_t>(fabric.link()));
}

std::string_view to_string(NcclLink link) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "NVLink through NVSwitch", "NVLink",
                                                      "PCIe peer to peer", "host memory"};
  return kNames.at(static_cast<std::size_t>(link));
}

std::string path_name(const NcclFabric& fabric) {
  std::string inside(to_string(fabric.link()));
  if (fabric.nodes == 1) return inside;
  const std::string network =
      fmt::format("{}{}", to_string(*fabric.network), fabric.staged_network ? " through host memory" : "");
  return fabric.ranks_per_node == 1 ? network : inside + " + " + network;
}

}  // namespace gradwire

#include "predict/nccl/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "predict/nccl/version.h"
#include "topo/path.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

PathClass way_to_card(const Machine& machine, DeviceId gpu) {
  const auto cards = machine.topology.nearest(gpu, DeviceKind::nic);
  return cards.empty() ? PathClass::none : classify(machine.topology, gpu, cards.front());
}

// Of a node's GPUs the nearest to a card sends for all. Farther than PXB NCCL uses GPUDirect only when told to (its paths.cc).
bool uses_gpudirect(const Machine& machine, const NcclFabric& fabric) {
  const NetworkSpec& network = *machine.network;
  const auto& told = fabric.settings.gpudirect_level;
  if (!network.gpudirect.value_or(false) || told == PathClass::self) return false;
  if (!network.cards_far) return true;
  const auto near = [&](DeviceId gpu) { return told && way_to_card(machine, gpu) <= *told; };
  return std::any_of(machine.gpus.begin(), machine.gpus.begin() + fabric.ranks_per_node, near);
}

// Omni-Path's verbs are software (openucx/ucx issue 3196), and EFA had no RDMA before the instances of PCIe 5, but for those
// with GPUDirect (aws/aws-ofi-nccl issues 547, 981).
bool places_data(const Machine& machine, NetworkKind kind) {
  const int generation = machine.node.pcie_gen.value_or(std::max(machine.gpu.pcie_gen, 3));
  return kind != NetworkKind::omnipath && (kind != NetworkKind::efa || generation >= 5);
}

Detour detour_of(const Machine& machine, DeviceId gpu, const NcclFabric& fabric, bool direct) {
  const bool far = fabric.ranks_per_node == 1 && way_to_card(machine, gpu) == PathClass::sys;
  if (direct && !far) return Detour::none;
  if (direct && fabric.settings.gpudirect_level == PathClass::sys) return Detour::sockets;
  return places_data(machine, *fabric.network) ? Detour::memory : Detour::processor;
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
  const bool direct = uses_gpudirect(machine, fabric);
  fabric.network = network.kind.value_or(NetworkKind::ethernet);
  fabric.detour = detour_of(machine, gpu, fabric, direct);
  // What reaches a card over the root complex comes in smaller packets; 12 of 15.75 GB/s is NCCL's count.
  const double slot = fabric.slot_gbps * 12 / 15.75 /
                      (behind_root_complex(machine, cards) ? maker_rules(machine.cpu).root_cost : 1);
  fabric.cards = cards;
  fabric.card_gbps = std::min(gbit / 8, slot);
  // Of a card, what sockets reach is what topo shows.
  if (fabric.network == NetworkKind::ethernet && !direct && network.gbit_per_nic)
    fabric.socket_gbps = network_rate(network).bytes_per_s / 1e9;
  fabric.network_nominal_gbps = gbit / 8 * cards;
  fabric.node_cards = {cards, gbit, *fabric.network};
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

MachineClass class_of(const NcclFabric& fabric) {
  if (fabric.nodes > 1) return fabric.staged_network() ? MachineClass::staged_network : MachineClass::network;
  if (fabric.nvls) return MachineClass::nvls;
  switch (fabric.link()) {
    case NcclLink::nvswitch:
      return MachineClass::nvswitch;
    case NcclLink::nvlink:
      return MachineClass::nvlink_direct;
    case NcclLink::pcie:
      return MachineClass::pcie;
    case NcclLink::none:
    case NcclLink::host:
      break;
  }
  return MachineClass::host_memory;
}

std::string_view to_string(NcclLink link) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "NVLink through NVSwitch", "NVLink",
                                                      "PCIe peer to peer", "host memory"};
  return kNames.at(static_cast<std::size_t>(link));
}

Way way_of(const NcclFabric& fabric) {
  if (fabric.nodes == 1) return {.inside = fabric.link()};
  const bool alone = fabric.ranks_per_node == 1;
  return {alone ? NcclLink::none : fabric.link(), fabric.network, fabric.detour};
}

Way way_through_host(const Machine& machine) {
  Way way{.inside = NcclLink::host};
  if (machine.nodes > 1) way.network = machine.network->kind;
  return way;
}

std::string path_name(const std::optional<Way>& way) {
  if (!way) return "";
  const std::string inside(to_string(way->inside));
  if (!way->network) return inside;
  constexpr std::array kDetours = {"", " through host memory", " through host memory", " across sockets"};
  const std::string network =
      fmt::format("{}{}", to_string(*way->network), kDetours.at(static_cast<std::size_t>(way->detour)));
  return way->inside == NcclLink::none ? network : inside + " + " + network;
}

}  // namespace gradwire

#include "topo/placement.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace gradwire {
namespace {

void check_nesting(int inner, const char* inner_name, int outer, const char* outer_name) {
  if (inner > 0 && outer > 0 && outer % inner != 0)
    throw ConfigError(fmt::format("the PCIe layout does not nest: {} is {}, which is no multiple of {} {}",
                                  outer_name, outer, inner_name, inner));
}

void check_layout(const PcieLayout& layout) {
  const int under_upper = layout.gpus_per_switch * std::max(1, layout.switches_per_upper);
  check_nesting(under_upper, "the GPUs under a switch,", layout.gpus_per_bridge, "gpus_per_bridge");
  check_nesting(under_upper, "the GPUs under a switch,", layout.gpus_per_socket, "gpus_per_socket");
  check_nesting(layout.gpus_per_bridge, "gpus_per_bridge", layout.gpus_per_socket, "gpus_per_socket");
  if (layout.switches_per_upper > 0 && layout.gpus_per_switch == 0)
    throw ConfigError("the PCIe layout has switches_per_upper but no gpus_per_switch");
}

Seat seat_of(const PcieLayout& layout, int gpu, int width) {
  Seat seat;
  seat.cpu = layout.gpus_per_socket > 0 ? gpu / layout.gpus_per_socket : 0;
  seat.bridge = layout.gpus_per_bridge > 0 ? gpu / layout.gpus_per_bridge : seat.cpu;
  seat.leaf = layout.gpus_per_switch > 0 ? gpu / layout.gpus_per_switch : -1;
  seat.upper = layout.switches_per_upper > 0 ? seat.leaf / layout.switches_per_upper : -1;
  seat.width = width;
  return seat;
}

bool cards_at_switches(const ResolvedNode& node) {
  const auto& network = node.spec.network;
  const bool plain_ethernet =
      network && network->kind == NetworkKind::ethernet && !network->gpudirect.value_or(false);
  return !plain_ethernet && (!node.spec.pcie || node.spec.pcie->nics_at_switch);
}

}  // namespace

int SeatPlan::count(int Seat::*group) const {
  int most = -1;
  for (const auto* seats : {&gpus, &nics})
    for (const Seat& seat : *seats) most = std::max(most, seat.*group);
  return most + 1;
}

SeatPlan place_by_layout(const ResolvedNode& node) {
  const PcieLayout& layout = *node.spec.pcie;
  check_layout(layout);
  SeatPlan placement;
  for (int gpu = 0; gpu < node.total_gpus; ++gpu)
    placement.gpus.push_back(seat_of(layout, gpu, *node.spec.pcie_width));
  placement.cpus = std::max(layout.sockets, placement.count(&Seat::cpu));
  return placement;
}

void add_nics(const ResolvedNode& node, SeatPlan& placement, int cards) {
  const int leaves = cards_at_switches(node) ? placement.count(&Seat::leaf) : 0;
  int bridges = placement.count(&Seat::bridge);
  for (int card = 0; card < cards; ++card) {
    Seat seat;
    if (leaves > 0) {
      const int leaf = card * leaves / cards;
      const auto neighbour = std::find_if(placement.gpus.begin(), placement.gpus.end(),
                                          [&](const Seat& gpu) { return gpu.leaf == leaf; });
      seat = neighbour == placement.gpus.end() ? seat : *neighbour;
    } else {
      seat = {.cpu = card * placement.cpus / cards, .bridge = bridges++};
    }
    seat.width = 16;
    placement.nics.push_back(seat);
  }
}

namespace {

int known_or(const std::vector<int>& values, std::size_t at, int otherwise) {
  return at < values.size() && values[at] > 0 ? values[at] : otherwise;
}

void set_slots(const PcieLayout& layout, SeatPlan& placement) {
  for (std::size_t i = 0; i < placement.gpus.size(); ++i) {
    placement.gpus[i].width = known_or(layout.slot_widths, i, placement.gpus[i].width);
    placement.gpus[i].gen = known_or(layout.slot_gens, i, 0);
  }
  for (std::size_t i = 0; i < placement.nics.size(); ++i) {
    placement.nics[i].width = known_or(layout.card_widths, i, placement.nics[i].width);
    placement.nics[i].gen = known_or(layout.card_gens, i, 0);
  }
}

}  // namespace

bool joined_by_c2c(const ResolvedNode& node) {
  return node.gpu.c2c_bytes_per_s > 0 && node.cpu.maker == CpuMaker::grace;
}

SeatPlan place(const ResolvedNode& node) {
  SeatPlan placement = node.spec.matrix ? place_by_matrix(node) : place_by_layout(node);
  if (joined_by_c2c(node))
    for (Seat& seat : placement.gpus) seat = {.cpu = seat.cpu, .bridge = -1};
  const int wanted = node.spec.network ? *node.spec.network->nics_per_node : 0;
  add_nics(node, placement, std::max(0, wanted - static_cast<int>(placement.nics.size())));
  if (node.spec.pcie) set_slots(*node.spec.pcie, placement);
  return placement;
}

}  // namespace gradwire

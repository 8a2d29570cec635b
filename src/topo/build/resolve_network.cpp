#include "topo/build/resolve.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "topo/placement.h"

namespace gradwire {
namespace {

constexpr double kFastGbit = 100;  // GPUs whose nodes usually have this much use RDMA

void resolve_rate(ResolvedNode& node, NetworkSpec& network) {
  if (!network.kind) {
    network.kind = node.gpu.usual_gbit >= kFastGbit ? NetworkKind::infiniband : NetworkKind::ethernet;
    node.notes.push_back(
        fmt::format("the kind of network is not stated: taken as {}", to_string(*network.kind)));
  }
  if (!network.gbit_per_nic) {
    network.gbit_per_nic = node.gpu.usual_gbit > 0 ? node.gpu.usual_gbit : 10;
    node.notes.push_back(
        fmt::format("the network's rate is not stated: taken as {} Gbit/s a card", *network.gbit_per_nic));
  }
  if (!(*network.gbit_per_nic > 0) || *network.gbit_per_nic > 10000)
    throw ConfigError(fmt::format("a network card of {} Gbit/s does not exist", *network.gbit_per_nic));
}

int matrix_nics(const NodeSpec& spec) {
  return spec.matrix ? static_cast<int>(spec.matrix->names.size()) - spec.matrix->gpus : 0;
}

// Trays that have no socket link between them need a card each.
int boards(const ResolvedNode& node) {
  if (!node.spec.pcie || node.spec.pcie->sockets_per_board == 0 || node.spec.pcie->gpus_per_socket == 0)
    return 1;
  const int per_board = node.spec.pcie->gpus_per_socket * node.spec.pcie->sockets_per_board;
  return std::max(1, node.total_gpus / per_board);
}

void resolve_cards(ResolvedNode& node, NetworkSpec& network) {
  const auto& own = node.spec.network;
  if (!network.nics_per_node && own && own->nics_per_node && *network.kind != NetworkKind::ethernet)
    network.nics_per_node = own->nics_per_node;
  if (!network.nics_per_node && *network.kind == NetworkKind::ethernet) network.nics_per_node = boards(node);
  if (!network.nics_per_node) {
    const int usual = static_cast<int>(std::lround(node.total_gpus * node.gpu.usual_cards_per_gpu));
    network.nics_per_node =
        std::max(1, matrix_nics(node.spec) > 0 ? std::min(usual, matrix_nics(node.spec)) : usual);
    node.notes.push_back(
        fmt::format("the number of network cards is not stated: taken as {} a node", *network.nics_per_node));
  }
  if (*network.nics_per_node < 1 || *network.nics_per_node > 256)
    throw ConfigError(fmt::format("a node has 1 to 256 network cards, not {}", *network.nics_per_node));
}

bool are_cards_placed(const NodeSpec& spec) {
  return matrix_nics(spec) > 0 || (spec.pcie && !spec.pcie_assumed && !spec.pcie->nics_at_switch);
}

// NCCL's paths.cc lets cards read GPU memory up to PXB: under one switch, or under switches of one upper switch. Whichever GPU is
// nearest to a card sends for its node.
bool are_cards_far(const ResolvedNode& node) {
  const SeatPlan seats = place(node);
  const auto near = [](const Seat& gpu, const Seat& card) {
    return (gpu.leaf >= 0 && gpu.leaf == card.leaf) || (gpu.upper >= 0 && gpu.upper == card.upper);
  };
  return std::ranges::none_of(node.spec.gpu_indices, [&](int index) {
    const Seat& gpu = seats.gpus.at(static_cast<std::size_t>(index));
    return std::ranges::any_of(seats.nics, [&](const Seat& card) { return near(gpu, card); });
  });
}

}  // namespace

NetworkSpec resolve_network(ResolvedNode& node, const std::optional<NetworkSpec>& asked) {
  NetworkSpec network = asked ? *asked : *node.spec.network;
  resolve_rate(node, network);
  resolve_cards(node, network);
  const bool rdma = *network.kind != NetworkKind::ethernet, stated = network.gpudirect.has_value();
  if (!stated) network.gpudirect = rdma && node.gpu.pcie_p2p;
  if (!network.latency) network.latency = network_rate(network).latency;
  if (!network.rails) network.rails = false;
  if (*network.nics_per_node == 1) network.rails = false;
  if (stated || !*network.gpudirect || !are_cards_placed(node.spec) || joined_by_c2c(node)) return network;
  node.spec.network = network;
  network.cards_far = are_cards_far(node);
  return network;
}

}  // namespace gradwire

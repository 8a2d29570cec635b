#include "predict/nccl/price.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/sharing.h"

namespace gradwire {
namespace {

using C = NcclConstant;

constexpr double kTreeShareOfRing = 0.92;  // NCCL's figure (tuning.cc, 305-383)
// NVLS over several nodes against one. Of buffers of 8 GB and more two nodes of H100 got 260 GB/s for 276 (AWS p5) and 249 for
// 271 (Nebius, and one node of NVIDIA/nccl-tests issue 290): 0.92 and 0.94, network included; not fitted.
constexpr double kNvlsTreeShare = 0.95;
constexpr double kLl128OnNetwork = 120.0 / 128.0;  // bytes of data in a line
constexpr double kSimpleOnNetwork = 1.5;           // a hop of Simple against one of LL, through NCCL's proxy
constexpr double kUsualBuffer = 4 << 20;           // NCCL_BUFFSIZE's default
// The copy engine through host memory: microseconds to start a copy up and one down, why small buffers are slower
// (NVIDIA/nccl issue 922); not fitted. Large ones get what kernels get: 0.99 to 1.19 of it in four rings of one host.
constexpr double kCopyStart = 8;
constexpr double kLocalCopy = 1500;  // GB/s, half of a GPU's memory rate: read and written
// In flight before SM80: 512 threads x 16 bytes x 4 unrolled, 32 KB; since then 8, 64 KB (NCCL's common.h and prims_simple.h).
constexpr double kOlderBlock = 0.5;

C nvlink_share(int generation) {
  constexpr std::array kShares = {C::nvlink2_share, C::nvlink3_share, C::nvlink4_share, C::nvlink5_share};
  return kShares[static_cast<std::size_t>(std::clamp(generation, 2, 5) - 2)];
}

C pace_of(int sm) {
  return sm >= 100 ? C::pace_sm100 : sm >= 90 ? C::pace_sm90 : sm >= 80 ? C::pace_sm80 : C::pace_sm70;
}

C network_hop(NetworkKind kind) {
  return kind == NetworkKind::efa        ? C::efa_hop
         : kind == NetworkKind::ethernet ? C::tcp_hop
                                         : C::infiniband_hop;
}

// About what network_share is. Sockets are rated by what they carry, which it must not lower again, but a machine's own
// sweeps move it for both.
constexpr double kShareOfCards = 0.957;

// Kernels read host memory at 35 to 38 GB/s whatever the slot, by the requests under way (NVIDIA/nvbandwidth issue 24; H800).
constexpr double kHostReads = 37;
// GPUDirect from socket to socket: 11.5 of 31.5 GB/s one way (linux-rdma/perftest issue 241), taken as the sum of both.
constexpr double kBetweenSockets = 0.366;

bool rates_a_resource(std::size_t constant) {
  const auto is = [&](C first, C last) {
    return constant >= static_cast<std::size_t>(first) && constant <= static_cast<std::size_t>(last);
  };
  return is(C::nvlink2_share, C::nvlink5_share) || is(C::lane_share, C::thread_block_gbps);
}

// Bytes go along the ring once, and no further than to the last GPU.
bool open(Collective kind) { return kind == Collective::broadcast || kind == Collective::reduce; }

// Packets of 64 bytes instead of 128, as some root complexes cut them, cost 6/5 of the bandwidth (NCCL's topo.h, 39).
constexpr double kSmallPackets = 1.2;

}  // namespace

double capacity_of(const Resource& resource, const NcclConstants& constants, int sm) {
  const auto share = [&](C one) { return resource.nominal_gbps * get(constants, one); };
  switch (resource.kind) {
    case ResourceKind::nvlink:
    case ResourceKind::nvlink_cable:
      return share(nvlink_share(resource.generation));
    case ResourceKind::lane:
      return share(C::lane_share);
    case ResourceKind::root_lane:
      return share(C::lane_share) / kSmallPackets;
    case ResourceKind::peer_slot:
      return share(C::peer_slot_share);
    case ResourceKind::host_slot:
      return share(C::host_slot_share);
    case ResourceKind::uplink:
      return share(C::host_slot_share) * get(constants, C::uplink_share);
    case ResourceKind::memory:
      return share(C::memory_share);
    case ResourceKind::socket:
      return share(C::socket_share);
    case ResourceKind::socket_flow:
      return resource.nominal_gbps;
    case ResourceKind::thread_blocks:
      return share(C::thread_block_gbps) * (sm >= 80 ? 1 : kOlderBlock);
  }
  return 0;
}

// Rings carry equal shares of the bytes, so that the slowest decides. Max-min sharing fills the resource with the least
// room for each ring first, so among equals that room is the slowest ring's rate; others may be slower still and leave
// more.
RingRate ring_rate(const NodeRings& rings, const NcclConstants& constants, int sm, Collective kind) {
  if (rings.routes.empty()) return {};
  const auto& routes = open(kind) ? rings.chains : rings.routes;
  std::vector<double> capacities, crossings(rings.resources.size());
  std::vector<bool> mine(rings.resources.size());
  for (const Resource& resource : rings.resources) capacities.push_back(capacity_of(resource, constants, sm));
  for (std::size_t i = 0; i < routes.size(); ++i)
    for (const int at : routes[i]) {
      crossings[static_cast<std::size_t>(at)] += 1;
      if (i < rings.own) mine[static_cast<std::size_t>(at)] = true;
    }
  RingRate rate{HUGE_VAL, 0};
  const double count = static_cast<double>(rings.own);
  for (std::size_t i = 0; i < capacities.size(); ++i)
    if (mine[i] && count * capacities[i] / crossings[i] < rate.gbps)
      rate = {count * capacities[i] / crossings[i], i};
  if (routes.size() == rings.own) return rate;
  const auto rates = fair_share(capacities, routes);
  rate.gbps =
      count * *std::min_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rings.own));
  return rate;
}

NcclPrice::NcclPrice(const NcclFabric& fabric, const NcclConstants& constants, Collective kind)
    : fabric_(&fabric),
      constants_(constants),
      kind_(kind),
      rings_(ring_rate(fabric.rings, constants, fabric.sm, kind)) {
  rate_network();
}

// A byte waits for the slot, which carries both ways, and then for the reads. NVIDIA/nccl issues 243 and 465 have 5.7 and 6
// GB/s with PCIe 3, where this gives 5.7.
double NcclPrice::detour_gbps() const {
  const double slot = fabric_->slot_gbps * of(C::host_slot_share) / 2;
  const double memory = 1 / (1 / slot + 1 / kHostReads);
  switch (fabric_->detour) {
    case Detour::none:
      return HUGE_VAL;
    case Detour::memory:
      return memory;
    case Detour::processor:
      return std::min(memory, of(C::processor_copy_gbps));
    case Detour::sockets:
      break;
  }
  return kBetweenSockets / 2 * fabric_->slot_gbps;
}

void NcclPrice::rate_network() {
  pace_ = fabric_->over_nvlink() ? of(pace_of(fabric_->sm)) : 1;
  if (fabric_->nodes == 1) return;
  double nominal = fabric_->card_gbps;
  if (fabric_->socket_gbps > 0) nominal = std::min(nominal, fabric_->socket_gbps / kShareOfCards);
  const double card = nominal * of(C::network_share);
  const double copies = detour_gbps();
  const double cards = std::min(card, copies) * fabric_->cards * fabric_->card_share;
  const double slots = fabric_->slot_gbps * of(C::lane_share) * fabric_->ranks_per_node;
  network_ = std::min(cards, slots);
  limit_ = slots < cards ? NetworkLimit::slots : copies < card ? NetworkLimit::copies : NetworkLimit::cards;
}

NcclPrice NcclPrice::with(std::size_t constant, double factor) const {
  NcclPrice other = *this;
  other.constants_[constant] *= factor;
  if (!fabric_->rings.resources.empty() && rates_a_resource(constant)) {
    const auto& narrowest = fabric_->rings.resources[rings_.narrowest];
    const double before = capacity_of(narrowest, constants_, fabric_->sm);
    const double after = capacity_of(narrowest, other.constants_, fabric_->sm);
    if (before != after) other.rings_ = ring_rate(fabric_->rings, other.constants_, fabric_->sm, kind_);
  }
  other.rate_network();
  return other;
}

double NcclPrice::hop_us(NcclProtocol protocol) const {
  const bool ll = protocol == NcclProtocol::ll;
  const double starts = fabric_->by_copy_engine() ? kCopyStart : 0;
  if (fabric_->link() == NcclLink::host) return of(ll ? C::host_hop_ll : C::host_hop_simple) + starts;
  if (!fabric_->over_nvlink()) return of(ll ? C::pcie_hop_ll : C::pcie_hop_simple);
  if (protocol == NcclProtocol::ll128) return of(C::nvlink_hop_ll128);
  return of(ll ? C::nvlink_hop_ll : C::nvlink_hop_simple);
}

double NcclPrice::network_hop_us(NcclProtocol protocol) const {
  if (!fabric_->network) return 0;
  return of(network_hop(*fabric_->network)) * (protocol == NcclProtocol::simple ? kSimpleOnNetwork : 1);
}

double NcclPrice::latency_us(const NcclChoice& choice) const {
  const double nodes = fabric_->nodes, inside = fabric_->ranks_per_node - 1;
  const double base = of(choice.protocol == NcclProtocol::ll ? C::base_ll : C::base_simple);
  const double hop = hop_us(choice.protocol), between = network_hop_us(choice.protocol);
  switch (choice.algorithm) {
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return pace_ * of(C::nvls_latency) + 2 * std::log2(nodes) * between;
    case NcclAlgorithm::tree:
      return pace_ * (base + 2 * inside * hop) + 2 * std::log2(nodes) * between;
    case NcclAlgorithm::ring:
      break;
  }
  const double turns = turns_of(kind_), crossings = fabric_->nodes > 1 ? turns * (nodes - 1) : 0;
  return pace_ * (base + turns * inside * nodes * hop) + crossings * between;
}

double NcclPrice::transfer_us(const NcclChoice& choice, double bytes) const {
  const double n = fabric_->ranks, k = fabric_->ranks_per_node;
  const double inside = rings_.gbps > 0 ? rings_.gbps : HUGE_VAL;
  const double network = fabric_->nodes > 1 ? network_ : HUGE_VAL;
  // In NCCL's two trees, of half the bytes each, a node has two branches of two nodes, three of three, four of more (trees.cc).
  const double tree_network = network / std::min(2.0, fabric_->nodes / 2.0);
  const bool simple = choice.protocol == NcclProtocol::simple;
  double share = 1;
  if (choice.protocol == NcclProtocol::ll) share = of(C::ll_share);
  if (choice.protocol == NcclProtocol::ll128)
    share = fabric_->nodes > 1 ? kLl128OnNetwork : of(C::ll128_share);
  const double kilo = bytes * 1e-3;
  switch (choice.algorithm) {
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree: {
      // Every GPU sends its whole buffer to the switch and a share of the sum back: (k+1)/k of it each way.
      const double reduced = inside * of(fabric_->sm >= 100 ? C::nvls_sm100 : C::nvls_sm90) * k / (k + 1);
      return kilo / (fabric_->nodes == 1 ? reduced : std::min(kNvlsTreeShare * reduced, tree_network));
    }
    case NcclAlgorithm::tree:  // inner GPUs send twice what they reduce
      return kilo / (share * std::min(kTreeShareOfRing / 2 * inside, tree_network));
    case NcclAlgorithm::ring:
      break;
  }
  // The last share is copied where it arrives, which nothing overlaps. Between peers over PCIe few thread blocks do that, each at
  // about the rings' rate: one step more of 2(n-1), twice as fast as they are with two blocks (NVIDIA/nccl issue 398). Through
  // host memory it is read over the slot, which counts it as it is.
  const bool few = fabric_->nodes == 1 && fabric_->link() == NcclLink::pcie && !open(kind_);
  const double copies = few ? fabric_->rings.thread_blocks * inside : kLocalCopy;
  const double copy = simple ? kilo / n / copies : 0;
  return kilo * bus_factor(kind_, fabric_->ranks) / (share * std::min(inside, network)) + copy;
}

double NcclPrice::ramp(const NcclChoice& choice) const {
  const auto shape = [&] {
    if (fabric_->nodes > 1) return C::ramp_network;
    if (choice.algorithm == NcclAlgorithm::nvls) return C::ramp_nvls;
    if (choice.protocol != NcclProtocol::simple) return C::ramp_ll;
    return fabric_->over_nvlink() ? C::ramp_simple : C::ramp_pcie;
  };
  const double buffer =
      fabric_->settings.buffer ? static_cast<double>(*fabric_->settings.buffer) : kUsualBuffer;
  return of(shape()) * std::sqrt(kUsualBuffer / buffer);
}

// Over PCIe and around rings of several nodes slices soon take longer than a hop's latency, which passes while others are under way.
// LL128 too sends whole steps of its buffers to other nodes.
double NcclPrice::unhidden(const NcclChoice& choice, double transfer_by_latency) const {
  const bool several = fabric_->nodes > 1;
  const bool waits = several ? choice.algorithm != NcclAlgorithm::ring : fabric_->over_nvlink();
  const bool slices =
      choice.protocol == NcclProtocol::simple || (several && choice.protocol == NcclProtocol::ll128);
  if (waits || !slices) return 1;
  const double hidden = transfer_by_latency / of(C::hiding_slice);
  return 1 / (1 + hidden * hidden);
}

Seconds NcclPrice::piped(const NcclChoice& choice, double latency, double transfer) const {
  const double filling = latency + 2 * ramp(choice) * std::sqrt(latency * transfer);
  return 1e-6 * (transfer + filling * unhidden(choice, transfer / latency));
}

Seconds NcclPrice::time(const NcclChoice& choice, Bytes bytes) const {
  if (fabric_->ranks == 1 || bytes == 0) return 0;
  return piped(choice, latency_us(choice), transfer_us(choice, static_cast<double>(bytes)));
}

NcclProtocol send_protocol(Bytes bytes) {
  constexpr Bytes kLargestLl = 16 << 10;  // NCCL_P2P_LL_THRESHOLD
  return bytes <= kLargestLl ? NcclProtocol::ll : NcclProtocol::simple;
}

Seconds NcclPrice::send(double gbps, Bytes bytes, int rounds) const {
  if (bytes == 0) return 0;
  const NcclChoice choice{NcclAlgorithm::ring, send_protocol(bytes), 1};
  const bool ll = choice.protocol == NcclProtocol::ll;
  const double hop = fabric_->nodes > 1 ? network_hop_us(choice.protocol) : pace_ * hop_us(choice.protocol);
  const double latency = pace_ * of(ll ? C::base_ll : C::base_simple) + rounds * hop;
  const double share = ll ? of(C::ll_share) : 1;
  return piped(choice, latency, static_cast<double>(bytes) * 1e-3 / (share * gbps));
}

}  // namespace gradwire

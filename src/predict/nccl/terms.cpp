#include "predict/nccl/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

// NCCL's own latencies of the LL protocol, which small buffers take (tuning.cc, 148-176): base, and per hop.
constexpr double kBase = 6.6, kNvlinkHop = 0.6, kPcieHop = 1.0;

// Share of the links' rate that reduction inside NVSwitch reaches (tuning.cc, 139-211).
double nvls_efficiency(int sm) { return sm >= 100 ? 0.74 : 0.85; }

// A tree's inner GPUs send twice what they reduce; 0.92 is NCCL's figure (tuning.cc, 305-383).
constexpr double kTreeShareOfRing = 0.92 / 2;

// NVLS over several nodes against one: 487 and 468 of 483 GB/s x 1.875/1.75 on 2 x 8 H100 (aws-2x-p5,
// dstack-nebius-2node, aws-1x-p5-batch).
constexpr double kNvlsTreeShare = 0.93;

// Microseconds for a hop between nodes, both ways through NCCL's proxy: from the smallest sizes of
// dstack-nebius-2node and ncclt-293 (InfiniBand), aws-2x-p5 and aws-p3dn-2node-efa (EFA), gcp-a3mega-2node
// and awsdoeks-karpenter-socket (TCP). RoCE is taken as InfiniBand; Omni-Path and Slingshot are guesses
// between.
double network_hop(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::infiniband:
    case NetworkKind::roce:
      return 10;
    case NetworkKind::efa:
      return 30;
    case NetworkKind::ethernet:
      return 50;
    case NetworkKind::omnipath:
    case NetworkKind::slingshot:
      return 15;
  }
  return 10;
}

bool is_nvlink(NcclLink link) { return link == NcclLink::nvlink || link == NcclLink::nvswitch; }

Seconds latency_of(const NcclFabric& fabric) {
  const double hop = is_nvlink(fabric.link) ? kNvlinkHop : kPcieHop;
  if (fabric.nodes == 1) return (kBase + 2 * (fabric.ranks - 1) * hop) * kMicro;
  const double between = std::log2(fabric.nodes) * network_hop(*fabric.network);
  return (kBase + 2 * ((fabric.ranks_per_node - 1) * hop + between)) * kMicro;
}

// Buffer GB/s of each algorithm; 0 where it does not exist.
double ring_rate(const NcclFabric& fabric) {
  double link = fabric.node_gbps;
  if (fabric.nodes > 1) link = link > 0 ? std::min(link, fabric.network_gbps) : fabric.network_gbps;
  return link * fabric.ranks / (2.0 * (fabric.ranks - 1));
}

// Over two nodes every byte crosses the network once each way; over more, about twice.
double network_tree_rate(const NcclFabric& fabric) {
  return fabric.nodes == 2 ? fabric.network_gbps : fabric.network_gbps / 2;
}

double tree_rate(const NcclFabric& fabric) {
  const double inside = fabric.node_gbps * kTreeShareOfRing;
  if (fabric.nodes == 1) return inside;
  return fabric.node_gbps > 0 ? std::min(inside, network_tree_rate(fabric)) : network_tree_rate(fabric);
}

// Every GPU sends its whole buffer to the switch and a share of the sum back: (n+1)/n of it each way.
double nvls_rate(const NcclFabric& fabric) {
  if (!fabric.nvls) return 0;
  const double k = fabric.ranks_per_node;
  const double inside = fabric.node_gbps * nvls_efficiency(fabric.sm) * k / (k + 1);
  return fabric.nodes == 1 ? inside : std::min(inside * kNvlsTreeShare, network_tree_rate(fabric));
}

std::string family(int sm) {
  if (sm < 70) return "sm6x";
  if (sm == 86 || sm == 87 || sm == 89) return "sm86-89";
  return fmt::format("sm{}", sm >= 100 ? 100 : sm);
}

// How strongly classes hold to the one above; found by cross-validation with all records in sight. Networks
// of one kind differ as much as networks of different kinds do, so their classes stay near the rules.
constexpr double kTop = 0.5, kNvls = 1, kNvlink = 0.5, kRanks = 0.3;
constexpr double kPcieTop = 3, kPcie = 0.5;
constexpr double kNetworkTop = 3, kNetwork = 100;
constexpr double kRampTop = 0.5, kRamp = 10;

CalibrationClasses network_classes(const NcclFabric& fabric) {
  CalibrationClasses classes;
  classes.scope = fabric.staged_network ? "staged network" : "network";
  const std::string kind(to_string(*fabric.network));
  classes.latency = {{classes.scope, kNetworkTop},
                     {fmt::format("{} {}", classes.scope, kind), kNetwork},
                     {fmt::format("{} {} a node", classes.scope, fabric.ranks_per_node), kNetwork},
                     {fmt::format("{} {} {}", classes.scope, kind, family(fabric.sm)), kNetwork}};
  classes.rate = classes.latency;
  return classes;
}

CalibrationClasses nvlink_classes(const NcclFabric& fabric) {
  CalibrationClasses classes;
  const std::string ranks = fmt::format("nvlink {} ranks", fabric.ranks);
  classes.scope = fabric.nvls ? "nvls" : fabric.link == NcclLink::nvswitch ? "nvswitch" : "nvlink direct";
  classes.latency = {{"nvlink", kTop}, {ranks, kRanks}, {"nvlink " + family(fabric.sm), kNvlink}};
  classes.rate = {{"nvlink", kTop},
                  {classes.scope, kNvls},
                  {ranks, kRanks},
                  {classes.scope + " " + family(fabric.sm), kNvlink}};
  return classes;
}

CalibrationClasses pcie_classes(const NcclFabric& fabric) {
  CalibrationClasses classes;
  classes.scope = fabric.link == NcclLink::host ? "host memory" : "pcie";
  classes.latency = {{classes.scope, kPcieTop},
                     {classes.scope + " " + family(fabric.sm), kPcie},
                     {fmt::format("{} {} ranks", classes.scope, fabric.ranks), kPcie}};
  classes.rate = classes.latency;
  return classes;
}

}  // namespace

NcclTerms nccl_terms(const NcclFabric& fabric, const NcclSettings& settings) {
  NcclTerms terms{latency_of(fabric), 0, NcclAlgorithm::ring};
  if (fabric.ranks == 1) return {0, HUGE_VAL, NcclAlgorithm::ring};
  const bool one = fabric.nodes == 1;
  const std::pair<NcclAlgorithm, double> all[] = {
      {NcclAlgorithm::ring, ring_rate(fabric)},
      {NcclAlgorithm::tree, tree_rate(fabric)},
      {one ? NcclAlgorithm::nvls : NcclAlgorithm::nvls_tree, nvls_rate(fabric)}};
  for (const auto& [algorithm, gbps] : all)
    if ((!settings.algorithm || *settings.algorithm == algorithm) && gbps * kGiga > terms.bytes_per_s)
      terms = {terms.latency, gbps * kGiga, algorithm};
  if (terms.bytes_per_s == 0)
    terms.bytes_per_s = ring_rate(fabric) * kGiga;  // asked for one that is not there
  return terms;
}

CalibrationClasses nccl_classes(const NcclFabric& fabric) {
  CalibrationClasses classes = fabric.nodes > 1         ? network_classes(fabric)
                               : is_nvlink(fabric.link) ? nvlink_classes(fabric)
                                                        : pcie_classes(fabric);
  classes.ramp = {{"all", kRampTop}, {classes.scope, kRamp}};
  classes.machine = fmt::format("machine {} {}x{} {}", fabric.machine, fabric.nodes, fabric.ranks_per_node,
                                to_string(fabric.link));
  return classes;
}

}  // namespace gradwire

#include "predict/nccl/price.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace gradwire {
namespace {

// NCCL 2.30.7, src/graph/tuning.cc: microseconds in the order LL, LL128, Simple (lines 148-176).
using ByProtocol = std::array<double, 3>;
constexpr ByProtocol kTreeBase = {6.8, 14, 8.4}, kRingBase = {6.6, 14, 8.4};
constexpr ByProtocol kTreeNvlink = {.6, 1.25, 4}, kRingNvlink = {.6, 1.9, 3.4};
constexpr ByProtocol kTreePcie = {1, 1.9, 4}, kRingPcie = {1, 2.5, 5.7};
constexpr ByProtocol kTreeNet = {5, 8.5, 14}, kRingNet = {2.7, 4, 14};
constexpr double kNvlsInside = 25, kNvlsNet = 18, kNvlsTreeNet = 20.9;

// What a tree reaches of its rate by size, from 64 bytes on in powers of two (lines 620-655).
constexpr int kTreeSizes = 24;
constexpr std::array<std::array<double, kTreeSizes>, 3> kTreeShare = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

// Rows of the tables of caps: Volta and older, Ampere, Hopper, Blackwell; columns one node, two, more
// (139-211).
constexpr double kLlTotal[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};

constexpr double kRingLl128[4] = {20, 20, 36.7, 40};  // of a channel
constexpr double kTreeLl128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.7, 20}};
constexpr double kTreeSimple[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};

int row_of(int sm) { return sm >= 100 ? 3 : sm >= 90 ? 2 : sm >= 80 ? 1 : 0; }
int column_of(int nodes) { return std::min(nodes, 3) - 1; }

// What the cards' data sheet says, as NCCL counts.
double bus_rate(const NcclFabric& f) {
  if (f.nodes == 1) return f.rings.believed_gbps;
  const double inside = f.rings.believed_gbps > 0 ? f.rings.believed_gbps : HUGE_VAL;
  return std::min(inside, f.network_nominal_gbps);
}

// A GPU alone in its node has no rings there: one channel to the network, launched twice.
int block_count(const NcclFabric& f) {
  if (f.rings.thread_blocks > 0) return f.rings.thread_blocks;
  return std::min(2, f.settings.most_channels.value_or(2));
}

double latency_us(const NcclFabric& f, NcclAlgorithm algorithm, std::size_t p, Collective kind) {
  const double nodes = f.nodes, ranks = f.ranks;
  if (algorithm == NcclAlgorithm::nvls) return kNvlsInside + (f.nodes > 1 ? kNvlsNet : 0);
  if (algorithm == NcclAlgorithm::nvls_tree) return kNvlsInside + 2 * std::log2(nodes) * kNvlsTreeNet;
  if (algorithm == NcclAlgorithm::tree) {
    const double inside = (f.over_nvlink() ? kTreeNvlink : kTreePcie)[p];
    return kTreeBase[p] + 2 * ((ranks / nodes - 1) * inside + std::log2(nodes) * kTreeNet[p]);
  }
  const double inside = (f.over_nvlink() ? kRingNvlink : kRingPcie)[p];
  const double turns = turns_of(kind);
  const double steps = turns * (ranks - 1), between = f.nodes > 1 ? turns * (nodes - 1) : 0;
  return kRingBase[p] + (steps - between) * inside + between * kRingNet[p];
}

double tree_share(std::size_t p, Bytes bytes) {
  const int step = static_cast<int>(std::log2(std::max<double>(static_cast<double>(bytes), 64) / 64));
  return kTreeShare[p][static_cast<std::size_t>(std::min(step, kTreeSizes - 1))];
}

// Bytes of the buffer per microsecond / 1000; 0: not available.
double rate(const NcclFabric& f, NcclAlgorithm algorithm, std::size_t p, std::pair<Bytes, Collective> call) {
  const auto [bytes, kind] = call;
  const double bus = bus_rate(f), ring_to_buffer = 1 / bus_factor(kind, f.ranks);
  const double ll_cap = kLlTotal[row_of(f.sm)][column_of(f.nodes)];
  const bool simple = p == 2;
  const double channels = std::max(1.0, block_count(f) / 2.0);  // each is launched twice
  if (p == 1 && (f.sm < 70 || !f.over_nvlink() || f.staged_network())) return 0;
  if (algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree) {
    if (!simple || !f.nvls || (algorithm == NcclAlgorithm::nvls) != (f.nodes == 1)) return 0;
    const double inside = f.rings.believed_gbps * (f.sm >= 100 ? .74 : .85);
    return f.nodes == 1 ? inside * f.ranks / (f.ranks + 1.0)
                        : std::min(inside, f.network_nominal_gbps) * ring_to_buffer * 2;
  }
  if (algorithm == NcclAlgorithm::tree) {
    const double tree = .92 * bus, two_nodes = f.nodes == 2 ? 2 : 1;
    const int row = row_of(f.sm), column = column_of(f.nodes);
    const double by_protocol[] = {
        std::min(tree / 3.8, ll_cap),
        std::min(tree * (f.nodes == 1 ? 7.0 / 9 : 120.0 / 128), channels * kTreeLl128[row][column]),
        std::min(tree, channels * kTreeSimple[row][column])};
    return by_protocol[p] * .5 * two_nodes * tree_share(p, bytes);
  }
  const double by_protocol[] = {std::min(.5 * bus, ll_cap),
                                std::min(.92 * bus, channels * kRingLl128[row_of(f.sm)]), bus};
  return by_protocol[p] * ring_to_buffer;
}

// The quickest of what the settings leave and the fabric has, by NCCL's own figures.
std::optional<NcclChoice> find_quickest(const NcclFabric& fabric, Bytes bytes, Collective kind,
                                        const NcclSettings& settings) {
  constexpr std::array kAll = {NcclAlgorithm::tree, NcclAlgorithm::ring, NcclAlgorithm::nvls,
                               NcclAlgorithm::nvls_tree};
  std::optional<NcclChoice> best;
  double least = HUGE_VAL;
  for (const NcclAlgorithm algorithm : kAll) {
    const bool ring = algorithm == NcclAlgorithm::ring;
    if ((kind != Collective::all_reduce && !ring) || !settings.algorithms.has(kind, algorithm)) continue;
    for (std::size_t p = 0; p < 3; ++p) {
      if (!settings.protocols.has(kind, NcclProtocol(p))) continue;
      const double gbps = rate(fabric, algorithm, p, {bytes, kind});
      if (gbps <= 0) continue;
      const double time = latency_us(fabric, algorithm, p, kind) + static_cast<double>(bytes) / (1000 * gbps);
      if (time >= least) continue;
      least = time;
      best = NcclChoice{algorithm, NcclProtocol(p)};
    }
  }
  return best;
}

// What is left where a list names nothing that there is (tuning.cc: "ignoring NCCL_ALGO=COLLNET").
NcclSettings rings_and_trees(Collective kind) {
  NcclSettings settings;
  settings.algorithms.only(kind, {NcclAlgorithm::ring, NcclAlgorithm::tree});
  return settings;
}

}  // namespace

// Small buffers do not fill the channels (enqueue.cc, 1990-2116): a channel wants this much for each of its
// threads.
int nccl_channels(const NcclFabric& fabric, const NcclChoice& choice, Bytes bytes) {
  constexpr double kThreads[] = {512, 640, 512}, kLeast[] = {8, 8, 64};
  const auto p = static_cast<std::size_t>(choice.protocol);
  const double ring = choice.algorithm == NcclAlgorithm::ring && p == 0 ? fabric.ranks : 1;
  const double fills = static_cast<double>(bytes) / (kThreads[p] * kLeast[p] * ring);
  return static_cast<int>(std::clamp(std::floor(fills), 1.0, static_cast<double>(block_count(fabric))));
}

bool can_obey(const NcclFabric& fabric, Collective kind) {
  constexpr Bytes kAny = 1;  // what there is does not depend on sizes
  return find_quickest(fabric, kAny, kind, fabric.settings).has_value();
}

NcclChoice nccl_choice(const NcclFabric& fabric, Bytes bytes, Collective kind) {
  auto found = find_quickest(fabric, bytes, kind, fabric.settings);
  if (!found) found = find_quickest(fabric, bytes, kind, rings_and_trees(kind));
  NcclChoice best = found.value_or(NcclChoice{});
  best.channels = nccl_channels(fabric, best, bytes);
  return best;
}

}  // namespace gradwire

#include "sched/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "sched/algorithms.h"

namespace gradwire {
namespace {

constexpr std::array<std::string_view, kAlgorithms> kNames = {"exchange", "direct",       "halving_doubling",
                                                              "binomial", "double_tree",  "chain",
                                                              "ring",     "hierarchical", "dissemination"};

// docs/algorithms.md says where these come from.
constexpr Bytes kExchanged = 32 << 10;       // what a rank may receive where everybody gets everything
constexpr Bytes kPairExchanged = 128 << 10;  // the same for two ranks, where it costs no more bytes
constexpr Bytes kSmallest = 2 << 10;         // below this, a message costs the same whatever is in it
constexpr Bytes kRingChunk = 512 << 10;      // a ring with smaller chunks has nothing to overlap
constexpr int kManyRanks = 8;                // above this, everybody talking to everybody is a crowd

// A piece's chunk: long enough to fill a link, short enough to stay in a cache from its arrival to its
// departure. Trees are chosen for less data, which must still make several pieces.
constexpr Bytes kSegment = 256 << 10, kTreeSegment = 64 << 10;

using Maker = Part (*)(const Problem&, Rank me, int cut);
struct Entry {
  Collective kind;
  Algorithm algorithm;
  Maker make;
};

Part make_hierarchical(const Problem& p, Rank me, int cut) {
  const std::vector<int> one_host(static_cast<std::size_t>(p.world), 0);
  return hierarchical_all_reduce(me, p.hosts.empty() ? one_host : p.hosts, cut);
}

using enum Algorithm;
constexpr Entry kEntries[] = {
    {Collective::all_reduce, exchange,
     [](const Problem& p, Rank me, int cut) { return exchange_all_reduce(me, p.world, cut); }},
    {Collective::all_reduce, direct,
     [](const Problem& p, Rank me, int) { return direct_all_reduce(me, p.world); }},
    {Collective::all_reduce, halving_doubling,
     [](const Problem& p, Rank me, int) { return halving_doubling_all_reduce(me, p.world); }},
    {Collective::all_reduce, binomial,
     [](const Problem& p, Rank me, int cut) { return binomial_all_reduce(me, p.world, cut); }},
    {Collective::all_reduce, double_tree,
     [](const Problem& p, Rank me, int cut) { return double_tree_all_reduce(me, p.world, cut); }},
    {Collective::all_reduce, ring,
     [](const Problem& p, Rank me, int cut) { return ring_all_reduce(me, p.world, cut); }},
    {Collective::all_reduce, hierarchical, make_hierarchical},
    {Collective::reduce_scatter, direct,
     [](const Problem& p, Rank me, int) { return direct_reduce_scatter(me, p.world); }},
    {Collective::reduce_scatter, ring,
     [](const Problem& p, Rank me, int cut) { return ring_reduce_scatter(me, p.world, cut); }},
    {Collective::all_gather, direct,
     [](const Problem& p, Rank me, int) { return direct_all_gather(me, p.world); }},
    {Collective::all_gather, ring,
     [](const Problem& p, Rank me, int cut) { return ring_all_gather(me, p.world, cut); }},
    {Collective::broadcast, binomial,
     [](const Problem& p, Rank me, int cut) { return binomial_broadcast(me, p.world, p.root, cut); }},
    {Collective::broadcast, chain,
     [](const Problem& p, Rank me, int cut) { return chain_broadcast(me, p.world, p.root, cut); }},
    {Collective::reduce, binomial,
     [](const Problem& p, Rank me, int cut) { return binomial_reduce(me, p.world, p.root, cut); }},
    {Collective::reduce, chain,
     [](const Problem& p, Rank me, int cut) { return chain_reduce(me, p.world, p.root, cut); }},
    {Collective::all_to_all, direct,
     [](const Problem& p, Rank me, int) { return direct_all_to_all(me, p.world); }},
    {Collective::barrier, dissemination,
     [](const Problem& p, Rank me, int) { return dissemination_barrier(me, p.world); }},
};

Maker find_maker(Algorithm algorithm, Collective kind) {
  for (const Entry& entry : kEntries)
    if (entry.kind == kind && entry.algorithm == algorithm) return entry.make;
  return nullptr;
}

Maker maker_of(Algorithm algorithm, Collective kind) {
  if (const Maker maker = find_maker(algorithm, kind)) return maker;
  std::vector<std::string> others;
  for (const Entry& entry : kEntries)
    if (entry.kind == kind) others.emplace_back(name_of(entry.algorithm));
  throw ConfigError(
      fmt::format("{} can't do {}, which {} can", name_of(algorithm), name_of(kind), join(others, ", ")));
}

struct Hosts {
  int count = 0, smallest = 0, largest = 0;  // hosts, and ranks on one
};

Hosts count_hosts(std::span<const int> hosts) {
  std::map<int, int> ranks;
  for (const int host : hosts) ++ranks[host];
  Hosts result{.count = static_cast<int>(ranks.size())};
  for (const auto& [host, size] : ranks) {
    result.smallest = result.smallest == 0 ? size : std::min(result.smallest, size);
    result.largest = std::max(result.largest, size);
  }
  return result;
}

Algorithm choose_all_reduce(const Problem& problem) {
  const Bytes world = static_cast<Bytes>(problem.world);
  if ((world - 1) * problem.bytes <= (world == 2 ? kPairExchanged : kExchanged)) return exchange;
  const Hosts hosts = count_hosts(problem.hosts);
  if (hosts.count > 1 && hosts.largest > 1) return hierarchical;
  if (problem.bytes >= world * kRingChunk) return ring;
  if (problem.world <= kManyRanks) return std::has_single_bit(world) ? halving_doubling : direct;
  if (problem.bytes <= kSmallest) return binomial;
  return problem.bytes <= kSegment ? halving_doubling : double_tree;
}

Algorithm choose_algorithm(const Problem& problem) {
  const Bytes world = static_cast<Bytes>(problem.world);
  switch (problem.kind) {
    case Collective::all_reduce:
      return choose_all_reduce(problem);
    case Collective::reduce_scatter:
      return problem.bytes >= world * kRingChunk ? ring : direct;
    case Collective::all_gather:
      return problem.bytes >= kRingChunk ? ring : direct;
    case Collective::broadcast:
    case Collective::reduce:
      return problem.bytes >= world * kSegment ? chain : binomial;
    case Collective::all_to_all:
      return direct;
    case Collective::barrier:
      return dissemination;
    default:
      throw ConfigError(fmt::format("{} is made of messages and has no program", name_of(problem.kind)));
  }
}

// Pieces of about `segment`, rounded up to 1, 2, 3, 4, 6, 8, 12, 16, ... so that many sizes share a plan.
int cut_into(Bytes bytes, Bytes segment) {
  const Bytes wanted = (bytes + segment - 1) / segment;
  Bytes cut = 1;
  while (cut < wanted) cut = cut == 1 ? 2 : cut % 3 == 0 ? cut / 3 * 4 : cut / 2 * 3;
  return static_cast<int>(cut);
}

int cut_for(const Problem& problem, Algorithm algorithm) {
  const Bytes world = static_cast<Bytes>(problem.world);
  switch (algorithm) {
    case ring:
      return cut_into(problem.kind == Collective::all_gather ? problem.bytes : problem.bytes / world,
                      kSegment);
    case hierarchical: {
      const Hosts hosts = count_hosts(problem.hosts);
      return cut_into(problem.bytes / static_cast<Bytes>(std::max(1, hosts.count * hosts.smallest)),
                      kSegment);
    }
    case double_tree:
      return cut_into(problem.bytes, kTreeSegment);
    case exchange:
    case binomial:
    case chain:
      return cut_into(problem.bytes, kSegment);
    default:
      return 1;
  }
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  const auto index = static_cast<std::size_t>(algorithm);
  return index < kNames.size() ? kNames[index] : "unknown";
}

bool can(Algorithm algorithm, Collective kind) { return find_maker(algorithm, kind) != nullptr; }

Choice choose(const Problem& problem) { return choose(problem, choose_algorithm(problem)); }

Choice choose(const Problem& problem, Algorithm algorithm) {
  maker_of(algorithm, problem.kind);
  return {algorithm, cut_for(problem, algorithm)};
}

Part make_part(const Choice& choice, const Problem& problem, Rank me) {
  return maker_of(choice.algorithm, problem.kind)(problem, me, choice.cut);
}

}  // namespace gradwire

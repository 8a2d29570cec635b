#include "sim/network.h"

#include <array>
#include <cmath>

#include "base/error.h"

namespace gradwire {

Network::Network(int world) : world_(world), first_hop_{0} {
  if (world < 1) throw ConfigError(fmt::format("a network of {} ranks: there must be at least 1", world));
}

PipeId Network::add_pipe(Pipe pipe) {
  if (!(pipe.bytes_per_s > 0) || !std::isfinite(pipe.bytes_per_s))
    throw ConfigError(fmt::format("a pipe of {} bytes/s: the rate must be above 0", pipe.bytes_per_s));
  if (!(pipe.latency >= 0) || !std::isfinite(pipe.latency))
    throw ConfigError(fmt::format("a pipe with a latency of {} s: it must be 0 or more", pipe.latency));
  pipes_.push_back(pipe);
  return static_cast<PipeId>(pipes_.size()) - 1;
}

WayId Network::add_way(Pair pair, std::span<const PipeId> route) {
  if (pair.from < 0 || pair.from >= world_ || pair.to < 0 || pair.to >= world_)
    throw ConfigError(fmt::format("a way from rank {} to {} in a network of {}", pair.from, pair.to, world_));
  Seconds latency = 0;
  for (const PipeId pipe : route) {
    if (pipe < 0 || static_cast<std::size_t>(pipe) >= pipes_.size())
      throw ConfigError(fmt::format("a way from rank {} to {} over pipe {}, of which there are {}", pair.from,
                                    pair.to, pipe, pipes_.size()));
    latency += pipes_[pipe].latency;
  }
  const WayId way = ways();
  if (!by_pair_.emplace(key(pair), way).second)
    throw ConfigError(fmt::format("two ways from rank {} to {}", pair.from, pair.to));
  hops_.insert(hops_.end(), route.begin(), route.end());
  first_hop_.push_back(hops_.size());
  latencies_.push_back(latency);
  return way;
}

// Spread over all bits: pairs of neighbours are regular enough to meet in one place of a table otherwise.
std::uint64_t Network::key(Pair pair) {
  const std::uint64_t both =
      static_cast<std::uint64_t>(pair.from) << 32 | static_cast<std::uint32_t>(pair.to);
  return both * 0x9E3779B97F4A7C15u;
}

std::optional<WayId> Network::find_way(Pair pair) const {
  const auto found = by_pair_.find(key(pair));
  if (found == by_pair_.end()) return std::nullopt;
  return found->second;
}

WayId Network::way(Pair pair) const {
  if (const auto found = find_way(pair)) return *found;
  throw ConfigError(fmt::format("the network has no way from rank {} to rank {}", pair.from, pair.to));
}

std::vector<Pair> ring_pairs(int world) {
  std::vector<Pair> pairs;
  for (Rank rank = 0; rank < world; ++rank) pairs.push_back({rank, (rank + 1) % world});
  return pairs;
}

std::vector<Pair> all_pairs(int world) {
  std::vector<Pair> pairs;
  for (Rank from = 0; from < world; ++from)
    for (Rank to = 0; to < world; ++to)
      if (from != to) pairs.push_back({from, to});
  return pairs;
}

Network star(int world, Pipe cable, std::span<const Pair> pairs) {
  Network network(world);
  for (int i = 0; i < 2 * world; ++i) network.add_pipe(cable);  // 2r up from rank r, 2r + 1 down to it
  for (const Pair pair : pairs) network.add_way(pair, std::array{2 * pair.from, 2 * pair.to + 1});
  return network;
}

Network fat_tree(int world, const FatTree& shape, std::span<const Pair> pairs) {
  Network network(world);
  for (int i = 0; i < 2 * world; ++i) network.add_pipe(shape.cable);
  const int leaves = (world + shape.ranks_per_leaf - 1) / shape.ranks_per_leaf;
  for (int i = 0; i < 2 * leaves * shape.spines; ++i) network.add_pipe(shape.uplink);
  const auto uplink = [&](int leaf, int spine) { return 2 * (world + leaf * shape.spines + spine); };
  for (const Pair pair : pairs) {
    const int leaf = pair.from / shape.ranks_per_leaf, other = pair.to / shape.ranks_per_leaf;
    const int spine = pair.to % shape.spines, up = 2 * pair.from, down = 2 * pair.to + 1;
    if (leaf == other)
      network.add_way(pair, std::array{up, down});
    else
      network.add_way(pair, std::array{up, uplink(leaf, spine), uplink(other, spine) + 1, down});
  }
  return network;
}

Network make_network(const Machine& machine, std::span<const Pair> pairs) {
  const int world = static_cast<int>(machine.gpus.size());
  Network network(world);
  for (const Link& link : machine.topology.links())
    network.add_pipe({link.rate.bytes_per_s, link.rate.latency});
  for (const Pair pair : pairs) {
    if (pair.from < 0 || pair.from >= world || pair.to < 0 || pair.to >= world)
      throw ConfigError(
          fmt::format("{} has {} GPUs, so no ranks {} and {}", machine.name, world, pair.from, pair.to));
    const Path path = find_path(machine, machine.gpus[pair.from], machine.gpus[pair.to]);
    if (path.path_class == PathClass::none)
      throw ConfigError(fmt::format("{} has no path from GPU {} to {}", machine.name, pair.from, pair.to));
    network.add_way(pair, path.links);
  }
  return network;
}

}  // namespace gradwire

// What simulated messages travel on: pipes, and for pairs of ranks the pipes from one to the other. A pipe
// carries so many bytes a second in one direction; whatever is shared is one pipe on several ways. Plain
// numbers: the model knows nothing else of a machine. make_network() makes it from one.
//
// A value: built with add_pipe() and add_way(), then only read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "topo/machine.h"

namespace gradwire {

using PipeId = std::int32_t;
using WayId = std::int32_t;

struct Pipe {
  double bytes_per_s = 0;
  Seconds latency = 0;
};

struct Pair {
  Rank from = 0, to = 0;
  bool operator==(const Pair&) const = default;
};

class Network {
 public:
  explicit Network(int world);

  // Throw ConfigError for a rate or latency that is no such thing, and for pipes or ranks that don't exist.
  PipeId add_pipe(Pipe pipe);
  // A route that names a pipe twice crosses it twice. An empty one costs nothing: memory of the same rank.
  WayId add_way(Pair pair, std::span<const PipeId> route);

  int world() const { return world_; }
  std::span<const Pipe> pipes() const { return pipes_; }
  int ways() const { return static_cast<int>(latencies_.size()); }
  std::span<const PipeId> route(WayId way) const {
    return std::span(hops_).subspan(first_hop_[way], first_hop_[way + 1] - first_hop_[way]);
  }
  Seconds latency(WayId way) const { return latencies_[way]; }  // of all its pipes together
  std::optional<WayId> find_way(Pair pair) const;
  WayId way(Pair pair) const;  // throws ConfigError naming the two ranks when there is none

  // The hops of all ways, one after the other: those of a way are first_hop(way) up to first_hop(way + 1).
  std::span<const PipeId> hops() const { return hops_; }
  std::size_t first_hop(WayId way) const { return first_hop_[way]; }

 private:
  static std::uint64_t key(Pair pair);  // one of its own for every pair

  int world_;
  std::vector<Pipe> pipes_;
  std::vector<PipeId> hops_;
  std::vector<std::size_t> first_hop_;
  std::vector<Seconds> latencies_;
  std::unordered_map<std::uint64_t, WayId> by_pair_;
};

std::vector<Pair> ring_pairs(int world);  // every rank to the next
std::vector<Pair> all_pairs(int world);

// Every rank has a cable of its own, one pipe each way, to a switch that never is the bottleneck.
Network star(int world, Pipe cable, std::span<const Pair> pairs);

// Leaf switches of so many ranks, each joined to each of `spines` by `uplinks`; a way to another leaf takes
// the spine that the receiver's number picks (destination modulo spines, as static routing does).
struct FatTree {
  int ranks_per_leaf = 16, spines = 16;
  Pipe cable = {}, uplink = {};
};
Network fat_tree(int world, const FatTree& shape, std::span<const Pair> pairs);

// The network between the GPUs of a machine, as the model has it: every link a pipe, and for pairs of ranks
// the path that data takes (through host memory where GPUs can't reach each other). Ranks are the machine's GPUs in order. Pipes have the numbers of the topology's links, so that a pipe has a
// name: link_name(machine.topology, pipe). Throws ConfigError when a pair has no path.
Network make_network(const Machine& machine, std::span<const Pair> pairs);

}  // namespace gradwire

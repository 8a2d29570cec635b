// Which algorithm for which collective, world and size. Pure functions: every rank comes to the same answer.
// docs/algorithms.md explains the thresholds.
#pragma once

#include <span>
#include <string_view>

#include "sched/program.h"

namespace gradwire {

enum class Algorithm : std::uint8_t {
  exchange,
  direct,
  halving_doubling,
  binomial,
  double_tree,
  chain,
  ring,
  hierarchical,
  dissemination
};
inline constexpr int kAlgorithms = 9;

// How a hierarchical communicator (comm/hierarchical) cuts an all-reduce: up to kByLeaders a leader's two extra copies cost less
// than lanes' waits; of more, the network moves one piece while memory combines the next.
inline constexpr Bytes kByLeaders = 32 << 10, kLanePiece = 4 << 20;

std::string_view name_of(Algorithm algorithm);

// What is to be done. `bytes` is what one rank contributes, as in Signature; hosts[r] is the host of rank r,
// and no hosts means that all links are alike.
struct Problem {
  Collective kind = Collective::all_reduce;
  int world = 1;
  Bytes bytes = 0;
  Rank root = 0;
  std::span<const int> hosts = {};
};

struct Choice {
  Algorithm algorithm = Algorithm::direct;
  int cut = 1;  // pieces
  bool operator==(const Choice&) const = default;
};

Choice choose(const Problem& problem);

// The same with the algorithm given: only cuts. Throws ConfigError when it can't do this collective.
Choice choose(const Problem& problem, Algorithm algorithm);
bool can(Algorithm algorithm, Collective kind);

Part make_part(const Choice& choice, const Problem& problem, Rank me);

}  // namespace gradwire

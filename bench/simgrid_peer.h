// The peer of simgrid_bench: a collective in SimGrid (S4U, one actor for each host, CM02 without TCP
// factors), run in a process of its own, since SimGrid can be set up once in a process.
#pragma once

#include <optional>

#include "base/units.h"

namespace gradwire {

enum class Wiring { star, fat_tree };
enum class Pattern { ring, all_to_all };

struct PeerCall {
  Wiring wiring = Wiring::star;
  Pattern pattern = Pattern::ring;
  int hosts = 2;
  int hosts_per_leaf = 1;  // of the fat tree; as many spines
  Bytes bytes = 0;
  double bytes_per_s = 0;  // of every link, in each direction
  Seconds latency = 0;
};

struct PeerResult {
  Seconds simulated = 0;
  Seconds cost = 0;  // processor time of the simulation alone, with the platform already built
};

Seconds processor_time();  // of this process so far

// Nothing if it takes longer than `limit` or fails.
std::optional<PeerResult> run_simgrid(const PeerCall& call, Seconds limit);

}  // namespace gradwire

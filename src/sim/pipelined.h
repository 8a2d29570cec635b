// How long a collective takes that passes its data through in many equal pieces, without replaying all of
// them: a few are, until every further block of pieces takes the same time longer; the rest are counted.
// For any algorithm with a `cut`: trees, chains, rings, two levels.
#pragma once

#include <functional>
#include <vector>

#include "sched/program.h"
#include "sim/cost.h"
#include "sim/network.h"

namespace gradwire {

struct Pipelined {
  std::function<std::vector<Part>(int cut)> parts;  // the programs of all ranks with so many pieces
  int cut = 1;
  Bytes bytes = 0;  // in all, as Chunks has it
};

struct PipelinedTime {
  Seconds time = 0;
  int replayed = 0;     // pieces
  bool steady = false;  // the rest was counted; else all were replayed
};

// Pieces are taken as equal. Steady means that four blocks took the same to nine digits. That is no proof
// that later ones do too: flows that share pipes may fall into another step after a while.
PipelinedTime pipelined_time(const Pipelined& call, const Network& network, const CostModel& cost = {});

}  // namespace gradwire

// How long a collective takes that passes its data through in many equal pieces, without replaying all of
// them: twice as many are replayed again and again, until each further piece takes as much longer as before;
// the rest are counted. For any algorithm with a `cut`: trees, chains, rings, two levels.
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
  Bytes bytes = 0;          // in all, as Chunks has it
  double tolerance = 0.01;  // how far the time of a piece may be from what it was for half as many
};

// Chains and rings soon repeat themselves exactly. The flows of a pair of trees meet on their ranks' cables
// in ever new ways, so that pieces take more or less the same: `error` says how much, relatively. It is no
// proof: later pieces may fall into another step.
struct PipelinedTime {
  Seconds time = 0;
  double error = 0;  // 0 when all pieces were replayed, or pieces took the same to nine digits
  int replayed = 0;  // pieces
};

PipelinedTime pipelined_time(const Pipelined& call, const Network& network, const CostModel& cost = {});

}  // namespace gradwire

// A parallel step over wires that were measured. A rehearsal (`gradwire train MODEL --backend none --tp 2`, or --pp, or --shard; see
// train/rehearsal.h) tells what every rank computes between its calls; a bench tells what such calls take over the wires. replay()
// writes both as one graph of tasks (sched/step_graph.h), all steps after one another, and lets the time of it pass: ranks wait for
// each other, calls of a group follow one another, and what a call needs of a processor is taken from what its rank
// computes. Nothing is fitted. Pure functions of values.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "predict/step/step.h"
#include "sim/curve.h"
#include "sim/sweep.h"
#include "trace/timeline.h"

namespace gradwire {

struct CallCost {
  Seconds time = 0;
  double share = 0;  // of a rank's processor, while it lasts
};

// What the calls of one backend take, by what a bench says.
class MeasuredCalls {
 public:
  // `backend` empty: the only one there is. Throws ConfigError listing what there is.
  MeasuredCalls(const std::vector<Sweep>& sweeps, std::string backend);

  // Throws ConfigError that says which bench is missing. A message costs its receiver what it costs its sender.
  CallCost of(const RehearsedCall& call, int ranks, Bytes bytes) const;
  const std::string& backend() const { return backend_; }

 private:
  struct Measured {
    Curve time, processor;
  };
  using Key = std::tuple<Collective, int, bool>;  // ranks, user memory
  std::string backend_;
  std::map<Key, Measured> measured_;
};

struct Replayed {
  Timeline timeline;          // as a run would have recorded it, from the first step that was rehearsed
  Seconds communication = 0;  // of all calls of a rank in a step, hidden or not
};

// Throws ConfigError for a timeline that is no rehearsal, or whose ranks do not make the same calls.
Replayed replay(const Timeline& rehearsal, const MeasuredCalls& wires);

// What that makes of a step; its scaling is the share of it that the rehearsal, which waits for nobody, takes.
StepEstimate replayed_estimate(const Timeline& rehearsal, const Replayed&);

}  // namespace gradwire

// What a step of a plan takes, part by part: the closed form of the step graph (sched/step_graph.h) for ranks that are
// alike within a stage. A test holds it against the graph passed task by task. Some hundred nanoseconds.
//
//   micro-batches x busiest stage  |  filling and draining the pipeline  |  what shows of joining gradients  |  update
#pragma once

#include "predict/parallel/constants.h"
#include "predict/parallel/problem.h"

namespace gradwire {

struct PlanParts {
  Seconds compute = 0;  // forward and backward
  Seconds forward = 0;  // of it
  Seconds again = 0;    // what of it is recomputed
  Seconds tensor = 0;   // collectives inside layers
  Seconds context = 0, expert = 0;
  Seconds bubble = 0;    // stages that wait: filling, draining, layers that do not divide
  Seconds messages = 0;  // between stages
  Seconds replicas = 0;  // of joining gradients and gathering parameters, what shows
  Seconds slowdown = 0;  // of compute by what hides under it
  Seconds optimizer = 0, host = 0, other = 0;
  Seconds total() const;
  Seconds communication() const { return tensor + context + expert + messages + replicas + slowdown; }
};

PlanParts price_plan(const PlanProblem&, const ParallelValues&);

// Messages between stages on the longest way through a step: those of every micro-batch out of one stage and, while the
// pipeline fills and drains, of one micro-batch through all of them; there and back. Whether they show or not.
Seconds message_time(const PlanProblem&);

// Forward and backward of one layer and of the output layer, a micro-batch, communication aside.
struct LayerTime {
  Seconds forward = 0, backward = 0;  // with what is computed again
  Seconds again = 0;                  // of it
  Seconds output_forward = 0, output_backward = 0;
};
LayerTime layer_time(const PlanProblem&, const ParallelValues&);

}  // namespace gradwire

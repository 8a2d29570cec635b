// Proves a step graph: no rank waits for ever whatever the timing and in whichever order its groups are served,
// nothing is computed from what is not there yet, and every gradient is complete when parameters are updated.
#pragma once

#include "sched/step_graph.h"

namespace gradwire {

// Throws Error whose text begins with the name of the fault and says who and where:
//   malformed, mismatch, stuck   as run_step() says: with a lane for each group, and with one lane for the
//                                collectives of all groups
//   missing activation           a forward or backward that does not wait for what it works on
//   missing parameters           a sharded unit used without having been gathered in this step, or while another one is
//                                gathered into its buffer
//   incomplete gradient          an update that does not wait for every micro-batch of every rank that holds the parameters
void verify(const StepGraph&);

}  // namespace gradwire

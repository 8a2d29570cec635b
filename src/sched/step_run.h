// Passes the time of a step graph: when each task of each rank begins and ends, given how long each takes. The
// one loop that walks step graphs without executing them: the predictor gives it durations of a machine, a
// proof gives it none.
//
// Tasks that several ranks make together (a collective, a send with its receive, compute whose ranks meet
// inside) begin when the last of them is ready and end together, after the longest of what their ranks say.
// Which tasks belong together is fixed by their order on their group, so the result does not depend on timing,
// and a graph that passes once passes always.
//
// Where a rank computes on the processor that also moves its bytes, communication takes a share of it: computing goes on at
// the pace that is left, and communication that asks for more than the whole slows down too. A duration is then what a task
// takes when it has its processor to itself.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sched/step_graph.h"

namespace gradwire {

struct TaskTimes {
  Seconds begin = 0, end = 0;
};

struct StepRun {
  std::vector<std::vector<TaskTimes>> ranks;  // as StepGraph::ranks
  Seconds end = 0;                            // of the last task
};

using TaskDuration = std::function<Seconds(Rank, const Task&)>;

// Of a rank's processor, what a task of communication needs while it lasts: 0 to 1. Empty: nothing.
using TaskShare = std::function<double(Rank, const Task&)>;

// by_group: as step_graph.h says. one_for_collectives: a rank has a single lane for the collectives of all its
// groups, as on a GPU whose kernels wait for one another; messages keep their own.
enum class StepLanes : std::uint8_t { by_group, one_for_collectives };

// Throws Error whose text begins with the name of the fault and says who and where:
//   malformed   a task that waits for one that does not come before it, a group or peer that doesn't exist
//   mismatch    ranks of a group make different tasks at the same place
//   stuck       ranks wait for each other, or for one that never comes
StepRun run_step(const StepGraph&, const TaskDuration&, StepLanes = StepLanes::by_group,
                 const TaskShare& = {});

}  // namespace gradwire

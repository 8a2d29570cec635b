// Where the time of each step of one rank went, and of its whole trace, counted as lengths of sets of
// moments. Pure functions of a profile.
//
// On a GPU every moment of a step is one of: computing (optimizer, backward, forward, other, in this order
// where kernels of several overlap); else communication that nothing hides; else a copy; else the input
// (nothing runs and the processor waits for the next batch); else idle. So these add up to the step. A kernel
// belongs to the part of the loop, and to the step, from which it was launched. The processor runs ahead: a
// step begins where the processor begins it or where the GPU is done with the step before, whichever is later.
//
// Without a GPU the same is said of the thread that runs the loop; what no operator covers is `other`.
#pragma once

#include <string>
#include <vector>

#include "explain/landmarks.h"
#include "trace/breakdown.h"

namespace gradwire {

struct StepShares {
  Breakdown parts;
  Seconds copies = 0, idle = 0;
  Seconds copies_in = 0;    // of copies: from the host to the GPU
  Seconds idle_sync = 0;    // of idle: the processor waited for the GPU, which had nothing to do
  Seconds idle_queued = 0;  // of idle: work was launched and waited for something on the GPU
  Seconds idle_quiet = 0;   // of idle, but for that: nothing was launched for a long while
  Seconds idle_before = 0;  // of idle_quiet: until the first launch of a step or a forward
  Seconds step() const { return parts.step() + copies + idle; }
  Seconds computing() const { return parts.forward + parts.backward + parts.optimizer + parts.other; }
};

struct RankStep {
  int number = 0;
  Interval window;
  StepShares shares;
  int calls = 0;  // of collectives
};

// Unions over the whole trace, in nanoseconds. compute leaves copies out; idle is where nothing at all ran.
struct GpuTotals {
  Nanoseconds span = 0, compute = 0, comm = 0, overlap = 0, copies = 0, idle = 0;
  std::size_t kernels = 0, collectives = 0;
  bool operator==(const GpuTotals&) const = default;
};

struct RankSteps {
  std::vector<RankStep> steps;
  Landmarks marks;
  GpuTotals gpu;
  bool on_gpu = false;
  bool names_input = false;   // the trace says where the loop waits for its batches
  bool gpu_unseen = false;    // it ran on a GPU whose side was not recorded
  bool calls_unseen = false;  // it called collectives, and no kernel of theirs was recorded
  StepShares mean;            // of a step
  Intervals communication;    // over the trace; with computing, tells what of a collective was exposed
  Intervals computing;
};

GpuTotals gpu_totals(const Profile&);
RankSteps rank_steps(const Profile&);
StepShares mean_of(const std::vector<RankStep>&);

}  // namespace gradwire

// How long a training step takes. Backward and collectives progress together: buckets become ready along
// backward, their collectives start in order and one at a time, and while one runs backward goes on at the pace
// it leaves, until either ends. What is left when backward has ended is exposed; what backward took longer is
// slowdown; together they are what communication costs. Every rank waits for the slowest. Pure functions of
// values; some microseconds each.
//
//   forward | backward, stretched by collectives under it | exposed | optimizer | other
//                   bucket 0 |---|  bucket 1 |-------|  bucket 2 |------------|
#pragma once

#include <string>
#include <vector>

#include "predict/step/problem.h"
#include "topo/machine.h"
#include "trace/breakdown.h"
#include "trace/timeline.h"

namespace gradwire {

struct BucketTimes {
  Bytes bytes = 0;
  Seconds ready = 0, start = 0, end = 0;  // from the begin of the step
};

struct StepEstimate {
  Seconds step = 0;
  double samples_per_s = 0;  // over all GPUs
  Breakdown parts;           // of a step on a rank
  std::vector<BucketTimes> buckets;
  Bytes gradient_bytes = 0;    // that travel in a step
  Seconds communication = 0;   // of all collectives, hidden or not
  Seconds slowdown = 0;        // of backward, by the collectives under it; part of parts.backward
  Seconds synchronising = 0;   // broadcasting buffers; part of parts.other
  double scaling = 1;          // throughput over that of as many GPUs without any distribution
  double wire_answer = 0;      // d log(step) / d log(time of every collective)
  double relative_error = 0;   // of the step: half the width of the range that holds eight of ten
  double computing_error = 0;  // of its computing alone; 0 when that was measured
  int batch = 0, ranks = 1;    // of a micro-batch on a GPU; GPUs
  int accumulate = 1;          // micro-batches of the step
  Seconds micro_backward = 0;  // of a micro-batch before the last: nothing is sent under it

  // What the step would save if nothing had to be sent: hidden collectives cost too, by slowing backward.
  Seconds communication_cost() const { return parts.comm_exposed + slowdown + synchronising; }
};

StepEstimate solve(const StepProblem&, const StepConstants&);

// The step alone, without words or buckets: for fits and sweeps.
Seconds solve_step(const StepProblem&, const StepConstants&);

// A step of so many micro-batches: `each` is what one of them takes, `once` what comes with the last alone: gradients
// travel, weights are updated. What a run did besides comes with each, for nobody knows otherwise.
Seconds accumulated_step(Seconds each, Seconds once, int micro_batches);

// Every collective takes so many times as long.
StepProblem on_slower_wires(StepProblem, double times);

// Everything an estimate rests on, made once and shared by many.
struct StepModel {
  StepConstants constants = default_step_constants();
  Roofline roofline = default_roofline();
};

StepEstimate estimate_step(const Workload&, const Gpu&, const Wires&, const StepOptions&, const StepModel&);

// Expected largest of n draws from a standard normal distribution (Blom's approximation).
double expected_maximum(int n);

// One step of every rank as a run would have recorded it. Ranks of a model are alike; `ranks` of them are
// drawn.
Timeline timeline_of(const StepEstimate&, const std::string& source, int ranks);

}  // namespace gradwire

// A step taken from a recorded run, part by part: what its ranks computed, and where in backward each bucket
// of gradients was ready. Values and pure functions.
//
// The best record is one of ranks that trained apart (`gradwire train MODEL --backend none --trace F`):
// computing is then undisturbed by communication, and how far ranks are apart is known.
#pragma once

#include <string>
#include <vector>

#include "predict/step/problem.h"
#include "trace/breakdown.h"
#include "trace/timeline.h"

namespace gradwire {

struct RecordedBucket {
  Bytes bytes = 0;
  double ready = 0;  // share of backward after which its last gradient was there
};

struct RecordedStep {
  Breakdown parts;                      // of a median step
  std::vector<RecordedBucket> buckets;  // in the order they left
  int ranks = 1;
  int samples = 1;      // of a step on one rank
  Seconds slowest = 0;  // the median over steps of the slowest rank's
  double unsteady = 0;  // half the distance of the quartiles of steps, as a share of the median
};

// Throws ConfigError with `name` in front when the timeline has no step or its steps have no buckets.
RecordedStep recorded_step(const Timeline&, const std::string& name);

// The same step with these wires between its ranks. `overlap`: buckets leave during backward.
StepProblem recorded_problem(const RecordedStep&, const Wires&, bool overlap);

// What solve() adds to such a problem: waiting for the slowest rank, as far as the record shows it.
// Everything else that constants stand for is in the record already.
StepConstants recorded_constants(const RecordedStep&);

}  // namespace gradwire

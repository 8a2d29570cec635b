// Predictions from what was recorded or measured instead of described. A step taken from a recorded run, part by part:
// what its ranks computed, and where in backward each bucket of gradients was ready; a model taken from one; wires taken
// from a measurement of collectives. Values and pure functions.
//
// The best record is one of ranks that trained apart (`gradwire train MODEL --backend none --trace F`):
// computing is then undisturbed by communication, and how far ranks are apart is known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predict/step/options.h"
#include "predict/step/problem.h"
#include "predict/step/wires.h"
#include "predict/workload/workload.h"
#include "sim/sweep.h"
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

// Its ranks communicated, so that what they computed is not what they would compute undisturbed.
bool was_disturbed(const RecordedStep&);

// Half the distance of the quartiles of its steps, but for the first, as a share of their median.
double unsteadiness(const Timeline&);

// The same step with these wires between its ranks. `overlap`: buckets leave during backward.
StepProblem recorded_problem(const RecordedStep&, const Wires&, bool overlap);

// What solve() adds to such a problem: waiting for the slowest rank, as far as the record shows it.
// Everything else that constants stand for is in the record already.
StepConstants recorded_constants(const RecordedStep&);

// A model taken from a recorded run instead of a description: its buckets, when each was ready, and how long
// the GPU (or CPU) computed.
struct RecordedModel {
  Workload
      workload;  // a layer for each bucket; a sample is one rank's batch where the trace does not say its samples
  Anchor anchor;              // what a step computes, without waiting for communication
  bool on_processor = false;  // and no GPU
};

// Throws ConfigError when the timeline has no step or its steps have no buckets.
RecordedModel model_of(const Timeline&, const std::string& name);

// Wires that were measured instead of modelled: what `gradwire bench --json` wrote of collectives stands for
// the machine. Its ranks compute on the processor that also moves the bytes, so a collective under backward
// takes from it what it needs. Whether a name of a machine means a file of measured collectives.
bool is_sweep(std::string_view on);

// All that was measured, of one file or of several with commas between them. Throws ConfigError that names the file.
std::vector<Sweep> read_sweep_files(std::string_view on);

// The all_reduce of `backend` (any, when empty) with `ranks` (any, when absent) in such files. Throws
// ConfigError that names them and lists what is there when that is not one.
Sweep read_sweep(std::string_view on, std::string_view backend, std::optional<int> ranks);

Wires measured_wires(const Sweep& sweep);

}  // namespace gradwire

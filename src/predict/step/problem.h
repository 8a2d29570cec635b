// A training step stripped to what decides its length: computing, and buckets with the place in backward
// where each becomes ready and the time its collective takes. Everything here follows from the model, the
// GPU, the wires and the options; solve() in step.h adds the constants. A value.
#pragma once

#include <optional>
#include <vector>

#include "predict/step/compute.h"
#include "predict/step/constants.h"
#include "predict/step/options.h"
#include "predict/step/wires.h"

namespace gradwire {

struct ReadyBucket {
  Bytes bytes = 0;      // that travel
  double ready = 0;     // share of backward after which its last gradient is there
  Seconds time = 0;     // of its collective, alone
  double slowdown = 0;  // share of computing lost while it runs, where buckets say it themselves
};

struct StepProblem {
  StepOptions options;  // batch and optimizer filled in
  int ranks = 1, nodes = 1;
  Seconds forward = 0, backward = 0;  // of a micro-batch
  Seconds optimizer = 0;
  Seconds copies = 0;   // gradients into buckets and back; compression
  Seconds buffers = 0;  // broadcast of batch normalisation's statistics
  Seconds between = 0;  // of the parts, as a recorded step had it, with each micro-batch
  // Buckets say what they slow: ranks compute on the processor that also moves the bytes, or what collectives slow is in the
  // record already.
  bool on_processor = false;
  int tensors = 0;
  std::vector<ReadyBucket> buckets;
  double host_share = 0;  // of a collective's time, that NCCL's kernels move data through host memory
  double staged =
      0;  // times a gradient byte passes through one socket's memory in tf-replicated; 0: not at all
  double wire_error = 0;  // relative: half the width of the range that holds eight of ten collectives
  Family family = Family::cnn;
  std::optional<double> unsteady = {};  // what steps varied by in a run that was recorded: its own spread
  Bytes gradient_bytes = 0;             // that travel in a step
};

// Share of computing's pace that is lost while a collective runs beside it: its kernels take SMs and memory all the time. Where they
// also move data through host memory it is what that takes while it is busy, if that is more; so a slower network, which leaves
// host memory idle for longer, never makes a step shorter. tf-replicated leaves that to copy engines.
double lost_pace(const StepProblem&, const StepConstants&);

// What one run's rate differs from another's by beside its wires, and what the step model leaves open: standard deviation of its
// logarithm, found so that eight of ten measured runs lie inside (presets/measured/training.jsonl). Of two runs with as many GPUs
// most of that is the same: kSpreadOfRatio.
double run_spread(const StepProblem&);

StepProblem make_problem(const Workload&, const Gpu&, const Wires&, const StepOptions&, const StepConstants&,
                         const Roofline&);

}  // namespace gradwire

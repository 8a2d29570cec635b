// A model taken from a recorded run instead of a description: its buckets, when each was ready, and how long
// the GPU (or CPU) computed.
#pragma once

#include "predict/step/options.h"
#include "predict/workload/workload.h"
#include "trace/timeline.h"

namespace gradwire {

struct RecordedModel {
  Workload
      workload;  // a layer for each bucket; a sample is one rank's batch where the trace does not say its samples
  Anchor anchor;  // what a step computes, without waiting for communication
};

// Throws ConfigError when the timeline has no step or its steps have no buckets.
RecordedModel model_of(const Timeline&, const std::string& name);

}  // namespace gradwire

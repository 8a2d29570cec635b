// A trace of torch.profiler in the form that the predictor takes: computing as measured, gradients and buckets
// as recorded, so that `compare` can put other wires under this very run. A pure function.
#pragma once

#include "import/profile.h"
#include "trace/timeline.h"

namespace gradwire {

constexpr const char* kOnProcessor = "torch.profiler on a processor";  // the source of a run without GPUs

// One rank's steps, as rank 0 of as many ranks as the run had. A bucket is ready when the GPU is done with what
// was launched before its all-reduce. Throws ConfigError with the file's name in front when no step has an
// all-reduce of known size.
Timeline timeline_of(const Profile&);

}  // namespace gradwire

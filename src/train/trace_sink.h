// Where DistributedDataParallel tells what it does and when, for those who draw a step. Without torch.
//
// record() comes from the thread that runs backward, a handful of times a step; times are of the steady
// clock.
#pragma once

#include <chrono>
#include <string_view>

#include "base/units.h"

namespace gradwire {

enum class Phase {
  backward,         // from the first gradient to the last; `bucket` is -1
  bucket_ready,     // a moment: the bucket's last gradient is there
  bucket_reduce,    // the bucket's all-reduce, from when it ran to when it ended, wherever it ran
  bucket_compress,  // what a communication hook computes before and after, in the thread of backward
  exposed_wait,     // backward has ended and the step waits for communication; `bucket` is -1
  buffer_sync       // the model's buffers come from rank 0; `bucket` is -1
};
inline constexpr int kPhases = 6;

std::string_view name_of(Phase);

struct PhaseEvent {
  using Time = std::chrono::steady_clock::time_point;
  Phase phase = Phase::backward;
  int bucket = -1;
  Bytes bytes = 0;
  Time begin = {}, end = {};
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const PhaseEvent&) = 0;
};

}  // namespace gradwire

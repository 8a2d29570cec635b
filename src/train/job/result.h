// What came of a training run. A value; without torch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "trace/breakdown.h"

namespace gradwire {

// Of a pipeline.
struct PipelineResult {
  double bubble_by_formula = 0;
  std::optional<double> bubble =
      {};               // in the order that stages worked in: idle slots, where every step was recorded
  Seconds waiting = 0;  // for other stages, of a rank in a step
};

// Bytes that a rank holds.
struct HeldMemory {
  Bytes parameters =
      0;  // of a sharded model its share; with float32 copies and their gradients where those are 16-bit
  Bytes gathered = 0;  // whole units of a sharded model beside the shares
  Bytes gradients = 0, optimizer = 0;
};

struct TrainResult {
  std::int64_t parameters = 0;
  Bytes gradient_bytes = 0;
  int ranks = 1, threads = 1, buckets = 0;
  std::string backend, data;                  // as the communicator and the dataset call themselves
  int first_step = 0;                         // above 0 after --resume
  std::vector<double> losses;                 // of each step, the mean over ranks
  std::optional<double> test_loss, accuracy;  // where the data has a test part
  std::int64_t test_count = 0;                // of what accuracy is a share
  Breakdown step;                             // the median one
  std::size_t dropped_spans = 0;
  int model_ranks = 1;  // that hold one model together
  std::vector<std::string>
      mesh;  // for people: which ranks share what over which links; empty: all the same model
  std::optional<PipelineResult> pipeline;
  HeldMemory held;
  int skipped_steps = 0;   // whose float16 gradients overflowed
  int interrupted_by = 0;  // the signal that ended it before its last step, or in its test
  bool saved = true;       // its last checkpoint, where it was to have one
  bool traced = true;      // its trace is written, where it was to have one
};

}  // namespace gradwire

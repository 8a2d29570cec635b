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
  int interrupted_by = 0;  // the signal that ended it before its last step
};

}  // namespace gradwire

// What came of a training run, and how it is told: as text for people, as one JSON object for programs.
// Without torch.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/train/options.h"
#include "trace/breakdown.h"

namespace gradwire {

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
};

double samples_per_second(const TrainOptions& options, const TrainResult& result);

std::string describe_run(const TrainOptions& options, const TrainResult& result);  // before the first step
std::string describe_result(const TrainOptions& options, const TrainResult& result);
nlohmann::json train_json(const TrainOptions& options, const TrainResult& result);

}  // namespace gradwire

// The batches of a training run: a model's samples dealt out to those that learn from different data, and what it is tested on.
// Batches are numbered through all epochs, so that a resumed run sees those it would have seen. Belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "sched/mesh.h"
#include "train/data/dataset.h"
#include "train/job/options.h"

namespace gradwire {

class TrainingData {
 public:
  // `reader` of `readers` models that share the data. Throws ConfigError.
  TrainingData(const TrainOptions& options, int reader, int readers);

  void put_on(torch::Device device,
              torch::ScalarType type);                    // what get() and test() give, where it is numbers
  const std::string& what() const { return data_.what; }  // for people

  Batch get(std::int64_t number);
  std::int64_t epoch() const { return epoch_; }  // of the batch that was read last

  // Each sample of the test is in one batch of one reader. All have as many batches: where a reader has no sample left,
  // it gets one that does not count, because ranks that compute together need one.
  struct Test {
    Batch batch;
    bool counts = true;
  };
  int tests() const;
  Test test(int number);

 private:
  std::int64_t test_size() const;
  Batch placed(Batch batch) const;

  const TrainOptions options_;
  const int reader_, readers_;
  const bool text_;
  Data data_;
  torch::Device device_ = torch::kCPU;
  torch::ScalarType type_ = torch::kFloat32;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> indices_;  // this reader's of epoch_
};

}  // namespace gradwire

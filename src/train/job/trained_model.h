// What `gradwire train` trains a model with, behind one face: DistributedDataParallel or ShardedDataParallel around the whole
// model, or a part of it on a mesh (mesh_model.h), each in one precision or mixed, with its optimizer. Belongs to the thread
// that trains; all ranks call everything.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "comm/communicator.h"
#include "trace/recorder.h"
#include "train/data/dataset.h"
#include "train/job/options.h"
#include "train/job/result.h"
#include "train/loop/checkpoint.h"
#include "train/models/net.h"
#include "train/precision/loss_scale.h"

namespace gradwire {

// What a step learns from.
struct StepData {
  int micro_batches = 1;
  std::function<Batch(int micro_batch)> next = {};  // reads one; each once, in their order
  std::uint64_t seed = 0;                           // of dropout that has to be alike on several ranks
};

// Of a test.
struct Answers {
  torch::Tensor classes;  // the likeliest, where this rank speaks for its model; else undefined
  double loss = 0;
};

class TrainedModel {
 public:
  virtual ~TrainedModel() = default;
  // Forward and backward of all micro-batches. Their mean loss; 0 where another rank of the model has it.
  virtual double learn(const StepData& data) = 0;
  // Then: clips (0: not), lets the optimizer step and forgets the gradients.
  virtual void update(double clip) = 0;
  virtual Answers test(const Batch& batch) = 0;          // with nothing to learn from
  virtual void describe(TrainResult& result) const = 0;  // sizes, buckets or units, bytes held
  virtual void set_trace(Recorder* trace) = 0;
  virtual TrainingState state() = 0;    // to be saved
  virtual LossScale* loss_scale() = 0;  // that too; none where losses are not scaled
  virtual std::vector<std::string> gradient_order()
      const = 0;  // and that; empty where buckets are not cut by it
  virtual TrainingPosition load(const std::filesystem::path& path, Communicator& host,
                                Unchecked unchecked) = 0;
};

// Of a model that each rank runs by itself. The communicator is borrowed. The model is on the CPU, in float32, with the same
// weights on all ranks.
std::unique_ptr<TrainedModel> make_trained_model(std::shared_ptr<Net> model, Communicator& communicator,
                                                 const TrainOptions& options, torch::Device device);

}  // namespace gradwire

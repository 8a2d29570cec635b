// What `gradwire train` trains a model with, behind one face: DistributedDataParallel or ShardedDataParallel, each in
// one precision or mixed, with its optimizer. Belongs to the thread that trains; all ranks call everything.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <memory>

#include "comm/communicator.h"
#include "trace/recorder.h"
#include "train/ddp.h"
#include "train/job/options.h"
#include "train/job/result.h"
#include "train/loop/checkpoint.h"
#include "train/models/net.h"

namespace gradwire {

class TrainedModel {
 public:
  virtual ~TrainedModel() = default;
  // Logits. `sends`: the backward of this forward is the step's last, others only add up.
  virtual torch::Tensor forward(const torch::Tensor& input, bool sends) = 0;
  virtual void backward(const torch::Tensor& loss) = 0;
  // Clips (0: not), lets the optimizer step and forgets the gradients.
  virtual void step(double clip) = 0;
  virtual torch::Tensor predict(const torch::Tensor& input) = 0;  // logits, with nothing to learn from
  virtual void describe(TrainResult& result) const = 0;           // sizes, buckets or units, bytes held
  virtual void set_trace(Recorder* trace) = 0;
  virtual TrainingState state() = 0;  // to be saved
  virtual TrainingPosition load(const std::filesystem::path& path, Communicator& host,
                                Unchecked unchecked) = 0;
};

// What a model of these options computes in; parameters that are learnt are float32 where that is narrower.
torch::ScalarType compute_type(const TrainOptions& options, torch::Device device);

// As the options say, also for models cut among ranks (mesh_model.h).
DdpOptions ddp_options(const TrainOptions& options, torch::Device device);
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainOptions& options,
                                                        const std::vector<torch::Tensor>& parameters);
Bytes bytes_of_state(torch::optim::Optimizer& optimizer, const std::vector<torch::Tensor>& parameters);

// The communicator is borrowed. The model is on the CPU, in float32, with the same weights on all ranks.
std::unique_ptr<TrainedModel> make_trained_model(std::shared_ptr<Net> model, Communicator& communicator,
                                                 const TrainOptions& options, torch::Device device);

}  // namespace gradwire

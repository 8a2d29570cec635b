// How a model learns, as the options of `gradwire train` say: in which precision, by which optimizer, and what its gradients
// travel as. Belongs to the thread that trains.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "train/job/options.h"
#include "train/pipeline/data_chunk.h"
#include "train/precision/grad_scaler.h"

namespace gradwire {

torch::ScalarType learnt_type(const TrainOptions& options);  // of parameters and the optimizer's state
torch::ScalarType asked_type(const TrainOptions& options);   // of what is computed

// What a model of these options computes in: float32 where float16 is asked for and libtorch can't.
torch::ScalarType compute_type(const TrainOptions& options, torch::Device device);

DdpOptions ddp_options(const TrainOptions& options, torch::Device device);
ReplicaOptions replica_options(const TrainOptions& options, torch::Device device);  // of a model that is cut

// An optimizer, and for float16 the scale of the loss, on which the ranks of the communicator agree. It is borrowed.
class Learner {
 public:
  Learner(const TrainOptions& options, std::vector<torch::Tensor> parameters, Communicator& everybody);

  // What backward begins with: small float16 gradients would be zero without.
  double scale() const { return scaler_ ? scaler_->state().value() : 1; }
  torch::Tensor scaled(const torch::Tensor& loss) const { return scaler_ ? scaler_->scale(loss) : loss; }

  // After backward: `clip` sees gradients as they are, then the optimizer steps, unless some rank's overflowed.
  void step(const std::function<void()>& clip);

  torch::optim::Optimizer& optimizer() const { return *optimizer_; }
  LossScale* loss_scale() { return scaler_ ? &scaler_->state() : nullptr; }
  Bytes bytes() const;  // of the optimizer's state
  int skipped() const { return scaler_ ? scaler_->state().skipped() : 0; }

 private:
  const std::vector<torch::Tensor> parameters_;
  const std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::optional<GradScaler> scaler_;
};

}  // namespace gradwire

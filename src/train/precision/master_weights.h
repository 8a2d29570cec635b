// Mixed precision for a model that every rank has whole: parameters and gradients are 16-bit, and an optimizer changes
// float32 copies of the parameters, in which small updates are not lost.
//
//   model->to(torch::kBFloat16);
//   gradwire::DistributedDataParallel ddp(model, *comm);
//   gradwire::MasterWeights masters(ddp.parameters(), torch::kBFloat16);
//   torch::optim::AdamW optimizer(masters.parameters(), 1e-3);
//   loss.backward();  masters.take_gradients();  optimizer.step();  masters.give_back();
//
// ShardedDataParallel has this built in (ShardOptions::compute_type). Belongs to the thread that trains.
#pragma once

#include <vector>

#include <torch/torch.h>

namespace gradwire {

class MasterWeights {
 public:
  // A parameter that is of `type` computes in it. One of a wider type computes in its own and is rounded to `type`, and
  // so is its gradient: for float16 on processors that libtorch has no float16 kernels for.
  MasterWeights(std::vector<torch::Tensor> parameters, torch::ScalarType type);
  // With the values that the parameters had before they were made narrower.
  MasterWeights(std::vector<torch::Tensor> parameters, std::vector<torch::Tensor> values,
                torch::ScalarType type);

  const std::vector<torch::Tensor>& parameters() const { return masters_; }
  void take_gradients();  // of the model, as the masters'; a parameter without one leaves its master without
  void give_back();       // the masters' values, rounded, to the model

 private:
  const std::vector<torch::Tensor> model_;
  const torch::ScalarType type_;
  std::vector<torch::Tensor> masters_, gradients_;
};

// Whether this libtorch can multiply matrices of this type on this device: 1.13 can't multiply float16 on a CPU.
bool can_compute(torch::ScalarType type, torch::Device device);

}  // namespace gradwire

// Batch normalization over the batch of all ranks: mean and variance are those of the whole batch, and so are
// the gradients. In evaluation it is torch::nn::BatchNorm. Takes (N, C, ...) of any number of dimensions.
//
//   SyncBatchNorm norm(*communicator, SyncBatchNormOptions(64));
//
// Every rank calls forward, and backward, the same number of times in the same order. Backward communicates
// in the thread of autograd, between buckets; with find_unused_parameters, where ranks' graphs differ, give
// it a communicator of its own. The communicator is borrowed.
#pragma once

#include <torch/torch.h>

#include "comm/communicator.h"

namespace gradwire {

using SyncBatchNormOptions = torch::nn::BatchNormOptions;

class SyncBatchNormImpl : public torch::nn::NormImplBase<1, SyncBatchNormImpl, SyncBatchNormOptions> {
 public:
  SyncBatchNormImpl(Communicator& communicator, const SyncBatchNormOptions& settings);
  torch::Tensor forward(const torch::Tensor& input);
  void pretty_print(std::ostream& stream) const override;
  void _check_input_dim(const torch::Tensor& input) override;

 private:
  double momentum();
  Communicator* communicator_;  // a pointer, because torch assigns modules to clone them
};

class SyncBatchNorm : public torch::nn::ModuleHolder<SyncBatchNormImpl> {
 public:
  using torch::nn::ModuleHolder<SyncBatchNormImpl>::ModuleHolder;
};

}  // namespace gradwire

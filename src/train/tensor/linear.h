// A linear layer cut by its outputs (columns of the matrix as papers write it) or by its inputs (rows), and the
// layers between cut ones. group.h says what they have in common.
//
// ColumnLinear takes what all ranks have (with sequence parallelism: ranks' rows) and gives this rank's part of the
// outputs. RowLinear takes that and gives what all ranks have (ranks' rows). One after the other with anything
// element-wise between them cost one sum over the ranks in forward and one in backward.
#pragma once

#include <torch/torch.h>

#include "train/tensor/moves.h"

namespace gradwire {

class ColumnLinearImpl : public torch::nn::Module, public SplitModule {
 public:
  // Cut from the whole layer; `blocks` as in TensorCut. The group is borrowed, here and below.
  ColumnLinearImpl(const torch::nn::Linear& whole, TensorGroup& group, int blocks = 1);
  torch::Tensor forward(const torch::Tensor& input);
  TensorCut cut_of(const std::string&) const override { return {.dim = 0, .blocks = blocks_}; }

  torch::Tensor weight, bias;  // bias may be undefined

 private:
  TensorGroup* const group_;
  const int blocks_;
};
TORCH_MODULE(ColumnLinear);

class RowLinearImpl : public torch::nn::Module, public SplitModule {
 public:
  RowLinearImpl(const torch::nn::Linear& whole, TensorGroup& group);
  torch::Tensor forward(const torch::Tensor& input);
  TensorCut cut_of(const std::string& parameter) const override;

  torch::Tensor weight, bias;  // every rank has the whole bias

 private:
  TensorGroup* const group_;
};
TORCH_MODULE(RowLinear);

// A norm of what lies between cut layers: with sequence parallelism each rank norms its rows, and the gradients of
// weight and bias are summed over the ranks.
class BetweenNormImpl : public torch::nn::Module {
 public:
  BetweenNormImpl(const torch::nn::LayerNorm& whole, TensorGroup& group);
  torch::Tensor forward(const torch::Tensor& input);

  torch::Tensor weight, bias;

 private:
  TensorGroup* const group_;
  const torch::nn::LayerNormOptions options_;
};
TORCH_MODULE(BetweenNorm);

// The same for a linear layer that is not worth cutting. It has a bias.
class BetweenLinearImpl : public torch::nn::Module {
 public:
  BetweenLinearImpl(const torch::nn::Linear& whole, TensorGroup& group);
  torch::Tensor forward(const torch::Tensor& input);

  torch::Tensor weight, bias;

 private:
  TensorGroup* const group_;
};
TORCH_MODULE(BetweenLinear);

// Dropout of a tensor of which each rank holds another part. It takes one number from torch's generator, the same on
// every rank, and draws the rest from a generator of this rank's own: so the ranks' generators stay together.
class PartDropoutImpl : public torch::nn::Module {
 public:
  PartDropoutImpl(double share, TensorGroup& group) : share_(share), group_(&group) {}
  torch::Tensor forward(const torch::Tensor& input);

 private:
  const double share_;
  TensorGroup* const group_;
};
TORCH_MODULE(PartDropout);

// Of what lies between cut layers: with sequence parallelism a part, else the same on every rank.
torch::nn::AnyModule make_between_dropout(double share, TensorGroup& group);

// What a torch::nn::Dropout drops now.
double dropped_share(const torch::nn::AnyModule& dropout);

}  // namespace gradwire

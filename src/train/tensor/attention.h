// The two halves of a transformer's layer, on one rank or cut among the ranks of a tensor-parallel group: attention by
// its heads, the linear layers by their middle. Made whole; split() leaves this rank's part, of weights and gradients
// that are the whole layer's.
//
//   Attention attention(AttentionOptions{.width = 768, .heads = 12});
//   attention->split(group);
#pragma once

#include <torch/torch.h>

#include "train/tensor/linear.h"

namespace gradwire {

struct AttentionOptions {
  int width = 0, heads = 0;
  bool causal = true;  // a token sees itself and those before it
  double dropout = 0.1;
};

// Takes and gives [batch, sequence, width]; dropout of the scores and of what it gives.
class AttentionImpl : public torch::nn::Module {
 public:
  explicit AttentionImpl(const AttentionOptions& options);
  void split(TensorGroup& group);  // once; throws ConfigError when heads don't divide
  torch::Tensor forward(const torch::Tensor& input);

 private:
  AttentionOptions options_;  // heads: this rank's
  const int depth_;
  torch::nn::AnyModule qkv, projection, score_dropout, dropout;
};
TORCH_MODULE(Attention);

struct FeedForwardOptions {
  int width = 0, middle = 0;
  bool tanh_gelu = true;  // GPT-2's approximation
  double dropout = 0.1;
};

class FeedForwardImpl : public torch::nn::Module {
 public:
  explicit FeedForwardImpl(const FeedForwardOptions& options);
  void split(TensorGroup& group);
  torch::Tensor forward(const torch::Tensor& input);

 private:
  const FeedForwardOptions options_;
  torch::nn::AnyModule widen, narrow, dropout;
};
TORCH_MODULE(FeedForward);

}  // namespace gradwire

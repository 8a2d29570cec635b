// The layer GPT-2 and BERT share: attention, then two linear layers, each with a residual connection. They
// differ in where the norm stands, in what a token may look at, and in the form of GELU.
#pragma once

#include <torch/torch.h>

#include "train/catalog/catalog.h"

namespace gradwire {

struct LayerStyle {
  bool norm_first = true;  // GPT-2: before each half; BERT: after its sum
  bool causal = true;      // a token sees itself and those before it
  bool tanh_gelu = true;   // GPT-2's approximation
  double norm_epsilon = 1e-5, dropout = 0.1;
};

class TransformerLayerImpl : public torch::nn::Module {
 public:
  TransformerLayerImpl(const TransformerShape& shape, const LayerStyle& style);
  torch::Tensor forward(const torch::Tensor& input);

 private:
  torch::Tensor attend(const torch::Tensor& input);
  torch::Tensor think(const torch::Tensor& input);

  const LayerStyle style_;
  const int heads_;
  torch::nn::LayerNorm norm1, norm2;
  torch::nn::Linear qkv, projection, widen, narrow;
  torch::nn::Dropout dropout;
};
TORCH_MODULE(TransformerLayer);

// Normal with deviation 0.02, as both papers have it; biases zero.
void init_transformer(torch::nn::Module& model);

}  // namespace gradwire

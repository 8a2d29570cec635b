// What GPT-2 and BERT share: the layer (attention, then two linear layers, each with a residual connection), and the
// ends, an embedding of tokens and logits over the same words. The models differ in where the norms stand, in what a
// token may look at, and in the form of GELU. All of it on one rank, or cut among a tensor-parallel group.
#pragma once

#include <torch/torch.h>

#include "train/catalog/catalog.h"
#include "train/models/net.h"
#include "train/tensor/attention.h"
#include "train/tensor/vocabulary.h"

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
  void split(TensorGroup& group);
  torch::Tensor forward(const torch::Tensor& input);

 private:
  const LayerStyle style_;
  torch::nn::AnyModule norm1, norm2;
  Attention attention;
  FeedForward feed_forward;
};
TORCH_MODULE(TransformerLayer);

// Layers between an embedding and a head, which the two models define.
class Transformer : public Net {
 public:
  Transformer(const TransformerShape& shape, const LayerStyle& style);
  std::vector<Piece> pieces() override;
  void split(TensorGroup& group) override;
  ModelEnd end() const override;

 protected:
  virtual Piece embedding() = 0;
  virtual Piece head() = 0;
  virtual void split_ends(TensorGroup& group) = 0;  // what is cut beyond tokens and layers
  void add_layers();                                // after what stands before them

  torch::nn::AnyModule add_norm(const char* name);
  void split_norm(const char* name, torch::nn::AnyModule& norm);

  const TransformerShape shape_;
  const LayerStyle style_;
  TensorGroup* group_ = nullptr;  // set once it is split
  torch::nn::AnyModule tokens, positions, dropout;
  std::vector<TransformerLayer> layers;
};

torch::nn::LayerNorm make_layer_norm(int width, double epsilon);

// This rank's rows of what is looked up by place, where the tokens' embeddings are split so.
torch::Tensor rows_like(TensorGroup* group, const torch::Tensor& by_place);

// Of an embedding, whichever it is.
torch::Tensor weight_of(const torch::nn::AnyModule& embedding);

// The token numbers' places, after seeing that they fit the context.
torch::Tensor places_of(const torch::Tensor& tokens, int context);

// Normal with deviation 0.02, as both papers have it; biases zero.
void init_transformer(torch::nn::Module& model);

}  // namespace gradwire

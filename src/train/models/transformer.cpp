#include "train/models/transformer.h"

#include <cmath>
#include <limits>

namespace gradwire {

namespace nn = torch::nn;

TransformerLayerImpl::TransformerLayerImpl(const TransformerShape& shape, const LayerStyle& style)
    : style_(style),
      heads_(shape.heads),
      norm1(register_module("norm1",
                            nn::LayerNorm(nn::LayerNormOptions({shape.width}).eps(style.norm_epsilon)))),
      norm2(register_module("norm2",
                            nn::LayerNorm(nn::LayerNormOptions({shape.width}).eps(style.norm_epsilon)))),
      qkv(register_module("qkv", nn::Linear(shape.width, 3 * shape.width))),
      projection(register_module("projection", nn::Linear(shape.width, shape.width))),
      widen(register_module("widen", nn::Linear(shape.width, 4 * shape.width))),
      narrow(register_module("narrow", nn::Linear(4 * shape.width, shape.width))),
      dropout(register_module("dropout", nn::Dropout(style.dropout))) {}

torch::Tensor TransformerLayerImpl::attend(const torch::Tensor& input) {
  const auto batch = input.size(0), length = input.size(1), width = input.size(2), depth = width / heads_;
  const auto parts =
      qkv->forward(input).view({batch, length, 3, heads_, depth}).permute({2, 0, 3, 1, 4}).unbind(0);
  auto scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(depth));
  if (style_.causal) {
    const auto later = torch::ones({length, length}, input.options().dtype(torch::kBool)).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<float>::infinity());
  }
  const auto mixed = torch::matmul(dropout->forward(torch::softmax(scores, -1)), parts[2]);
  return dropout->forward(projection->forward(mixed.transpose(1, 2).reshape({batch, length, width})));
}

torch::Tensor TransformerLayerImpl::think(const torch::Tensor& input) {
  const auto active = torch::gelu(widen->forward(input), style_.tanh_gelu ? "tanh" : "none");
  return dropout->forward(narrow->forward(active));
}

torch::Tensor TransformerLayerImpl::forward(const torch::Tensor& input) {
  if (style_.norm_first) {
    const auto x = input + attend(norm1->forward(input));
    return x + think(norm2->forward(x));
  }
  const auto x = norm1->forward(input + attend(input));
  return norm2->forward(x + think(x));
}

void init_transformer(nn::Module& model) {
  const torch::NoGradGuard no_grad;
  for (const auto& module : model.modules(/*include_self=*/false)) {
    if (auto* linear = module->as<nn::Linear>()) {
      linear->weight.normal_(0, 0.02);
      if (linear->bias.defined()) linear->bias.zero_();
    } else if (auto* embedding = module->as<nn::Embedding>()) {
      embedding->weight.normal_(0, 0.02);
    }
  }
}

}  // namespace gradwire

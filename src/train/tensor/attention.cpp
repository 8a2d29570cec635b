#include "train/tensor/attention.h"

#include <cmath>
#include <limits>

namespace gradwire {
namespace {

namespace nn = torch::nn;

// Puts a cut module in the place of a whole one.
template <typename Holder>
nn::AnyModule in_place_of(nn::Module& owner, const char* name, const Holder& cut) {
  owner.replace_module(name, cut.ptr());
  return nn::AnyModule(cut);
}

nn::Linear linear_in(const nn::AnyModule& module) {
  return nn::Linear(std::dynamic_pointer_cast<nn::LinearImpl>(module.ptr()));
}

// Of another type than the one it replaces, and without a holder's name.
nn::AnyModule dropout_in_place_of(nn::Module& owner, const char* name, nn::AnyModule dropout) {
  owner.replace_module(name, dropout.ptr());
  return dropout;
}

}  // namespace

AttentionImpl::AttentionImpl(const AttentionOptions& options)
    : options_(options),
      depth_(options.width / options.heads),
      qkv(register_module("qkv", nn::Linear(options.width, 3 * options.width))),
      projection(register_module("projection", nn::Linear(options.width, options.width))),
      score_dropout(register_module("score_dropout", nn::Dropout(options.dropout))),
      dropout(register_module("dropout", nn::Dropout(options.dropout))) {}

void AttentionImpl::split(TensorGroup& group) {
  check_divides(std::to_string(options_.heads) + " heads", options_.heads, group.size());
  options_.heads /= group.size();
  qkv = in_place_of(*this, "qkv", ColumnLinear(linear_in(qkv), group, 3));
  projection = in_place_of(*this, "projection", RowLinear(linear_in(projection), group));
  score_dropout = in_place_of(*this, "score_dropout", PartDropout(dropped_share(score_dropout), group));
  dropout = dropout_in_place_of(*this, "dropout", make_between_dropout(dropped_share(dropout), group));
}

torch::Tensor AttentionImpl::forward(const torch::Tensor& input) {
  const torch::Tensor all = qkv.forward(input);
  const auto batch = all.size(0), length = all.size(1);
  const auto parts = all.view({batch, length, 3, options_.heads, depth_}).permute({2, 0, 3, 1, 4}).unbind(0);
  auto scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(depth_));
  if (options_.causal) {
    const auto later = torch::ones({length, length}, input.options().dtype(torch::kBool)).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<float>::infinity());
  }
  const torch::Tensor kept = score_dropout.forward(torch::softmax(scores, -1));
  const auto mixed = torch::matmul(kept, parts[2]).transpose(1, 2);
  const torch::Tensor projected = projection.forward(mixed.reshape({batch, length, options_.heads * depth_}));
  return dropout.forward(projected);
}

FeedForwardImpl::FeedForwardImpl(const FeedForwardOptions& options)
    : options_(options),
      widen(register_module("widen", nn::Linear(options.width, options.middle))),
      narrow(register_module("narrow", nn::Linear(options.middle, options.width))),
      dropout(register_module("dropout", nn::Dropout(options.dropout))) {}

void FeedForwardImpl::split(TensorGroup& group) {
  widen = in_place_of(*this, "widen", ColumnLinear(linear_in(widen), group));
  narrow = in_place_of(*this, "narrow", RowLinear(linear_in(narrow), group));
  dropout = dropout_in_place_of(*this, "dropout", make_between_dropout(dropped_share(dropout), group));
}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& input) {
  const torch::Tensor wide = widen.forward(input);
  const torch::Tensor narrowed = narrow.forward(torch::gelu(wide, options_.tanh_gelu ? "tanh" : "none"));
  return dropout.forward(narrowed);
}

}  // namespace gradwire

#include "train/models/transformer.h"

#include "base/error.h"

namespace gradwire {

namespace nn = torch::nn;

nn::LayerNorm make_layer_norm(int width, double epsilon) {
  return nn::LayerNorm(nn::LayerNormOptions({width}).eps(epsilon));
}

namespace {

nn::LayerNorm layer_norm_in(const nn::AnyModule& norm) {
  return nn::LayerNorm(std::dynamic_pointer_cast<nn::LayerNormImpl>(norm.ptr()));
}

nn::AnyModule cut_norm(nn::Module& owner, const char* name, const nn::AnyModule& norm, TensorGroup& group) {
  const BetweenNorm cut(layer_norm_in(norm), group);
  owner.replace_module(name, cut.ptr());
  return nn::AnyModule(cut);
}

}  // namespace

TransformerLayerImpl::TransformerLayerImpl(const TransformerShape& shape, const LayerStyle& style)
    : style_(style),
      norm1(register_module("norm1", make_layer_norm(shape.width, style.norm_epsilon))),
      norm2(register_module("norm2", make_layer_norm(shape.width, style.norm_epsilon))),
      attention(register_module("attention", Attention(AttentionOptions{.width = shape.width,
                                                                        .heads = shape.heads,
                                                                        .causal = style.causal,
                                                                        .dropout = style.dropout}))),
      feed_forward(
          register_module("feed_forward", FeedForward(FeedForwardOptions{.width = shape.width,
                                                                         .middle = 4 * shape.width,
                                                                         .tanh_gelu = style.tanh_gelu,
                                                                         .dropout = style.dropout}))) {}

void TransformerLayerImpl::split(TensorGroup& group) {
  norm1 = cut_norm(*this, "norm1", norm1, group);
  norm2 = cut_norm(*this, "norm2", norm2, group);
  attention->split(group);
  feed_forward->split(group);
}

torch::Tensor TransformerLayerImpl::forward(const torch::Tensor& input) {
  if (style_.norm_first) {
    const torch::Tensor x = input + attention->forward(norm1.forward(input));
    return x + feed_forward->forward(norm2.forward(x));
  }
  const torch::Tensor x = norm1.forward(input + attention->forward(input));
  return norm2.forward(x + feed_forward->forward(x));
}

Transformer::Transformer(const TransformerShape& shape, const LayerStyle& style)
    : shape_(shape),
      style_(style),
      tokens(register_module("tokens", nn::Embedding(shape.vocabulary, shape.width))),
      positions(register_module("positions", nn::Embedding(shape.context, shape.width))),
      dropout(register_module("dropout", nn::Dropout(style.dropout))) {}

void Transformer::add_layers() {
  for (int i = 0; i < shape_.layers; ++i)
    layers.push_back(register_module("layer" + std::to_string(i), TransformerLayer(shape_, style_)));
}

nn::AnyModule Transformer::add_norm(const char* name) {
  return nn::AnyModule(register_module(name, make_layer_norm(shape_.width, style_.norm_epsilon)));
}

void Transformer::split_norm(const char* name, nn::AnyModule& norm) {
  norm = cut_norm(*this, name, norm, *group_);
}

std::vector<Piece> Transformer::pieces() {
  std::vector<Piece> all{embedding()};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string name = "layer" + std::to_string(i);
    all.push_back({name, {{name, layers[i].ptr()}}, [layer = layers[i]](const torch::Tensor& input) mutable {
                     return layer->forward(input);
                   }});
  }
  all.push_back(head());
  return all;
}

void Transformer::split(TensorGroup& group) {
  check(group_ == nullptr, "a model is split once");
  group_ = &group;
  const VocabularyEmbedding cut(nn::Embedding(std::dynamic_pointer_cast<nn::EmbeddingImpl>(tokens.ptr())),
                                group);
  replace_module("tokens", cut.ptr());
  tokens = nn::AnyModule(cut);
  dropout = make_between_dropout(dropped_share(dropout), group);
  replace_module("dropout", dropout.ptr());
  for (auto& layer : layers) layer->split(group);
  split_ends(group);
}

ModelEnd Transformer::end() const {
  if (group_ == nullptr) return Net::end();
  return {
      [group = group_, words = shape_.vocabulary](const torch::Tensor& output, const torch::Tensor& targets) {
        return vocabulary_cross_entropy(*group, output, targets, words);
      },
      [group = group_, words = shape_.vocabulary](const torch::Tensor& output) {
        return vocabulary_argmax(*group, output, words);
      }};
}

torch::Tensor rows_like(TensorGroup* group, const torch::Tensor& by_place) {
  return group != nullptr && group->sequence_parallel() ? own_rows(*group, by_place) : by_place;
}

torch::Tensor weight_of(const nn::AnyModule& embedding) {
  return embedding.ptr()->named_parameters(/*recurse=*/false)["weight"];
}

torch::Tensor places_of(const torch::Tensor& numbers, int context) {
  if (numbers.size(1) > context)
    throw ConfigError(fmt::format("a text of {} tokens is longer than the model's context of {}",
                                  numbers.size(1), context));
  return torch::arange(numbers.size(1), numbers.options());
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

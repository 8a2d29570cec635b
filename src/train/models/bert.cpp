// BERT (Devlin et al. 2018) with its head for masked words: learnt positions and segments, norms last, the
// token embedding as output layer with a bias of its own.
#include "base/error.h"
#include "train/models/net.h"
#include "train/models/transformer.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

constexpr double kEpsilon = 1e-12;  // of the norms, as in the published model
constexpr LayerStyle kStyle{
    .norm_first = false, .causal = false, .tanh_gelu = false, .norm_epsilon = kEpsilon};

nn::LayerNorm make_layer_norm(int width) {
  return nn::LayerNorm(nn::LayerNormOptions({width}).eps(kEpsilon));
}

class Bert : public Net {
 public:
  explicit Bert(const TransformerShape& shape)
      : context_(shape.context),
        tokens(register_module("tokens", nn::Embedding(shape.vocabulary, shape.width))),
        positions(register_module("positions", nn::Embedding(shape.context, shape.width))),
        segments(register_module("segments", nn::Embedding(2, shape.width))),
        norm(register_module("norm", make_layer_norm(shape.width))),
        dropout(register_module("dropout", nn::Dropout(0.1))),
        transform(register_module("transform", nn::Linear(shape.width, shape.width))),
        transform_norm(register_module("transform_norm", make_layer_norm(shape.width))) {
    for (int i = 0; i < shape.layers; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), TransformerLayer(shape, kStyle)));
    output_bias = register_parameter("output_bias", torch::zeros(shape.vocabulary));
    init_transformer(*this);
  }

  // The whole input is one segment.
  torch::Tensor forward(const torch::Tensor& input) override {
    if (input.size(1) > context_)
      throw ConfigError(fmt::format("a text of {} tokens is longer than the model's context of {}",
                                    input.size(1), context_));
    const auto place = torch::arange(input.size(1), input.options());
    auto x = tokens->forward(input) + positions->forward(place) + segments->forward(torch::zeros_like(input));
    x = dropout->forward(norm->forward(x));
    for (auto& layer : layers) x = layer->forward(x);
    x = transform_norm->forward(torch::gelu(transform->forward(x)));
    return torch::linear(x, tokens->weight, output_bias);
  }

 private:
  const int context_;
  nn::Embedding tokens, positions, segments;
  nn::LayerNorm norm;
  nn::Dropout dropout;
  nn::Linear transform;
  nn::LayerNorm transform_norm;
  std::vector<TransformerLayer> layers;
  torch::Tensor output_bias;
};

}  // namespace

std::shared_ptr<Net> make_bert(const TransformerShape& shape) { return std::make_shared<Bert>(shape); }

}  // namespace gradwire

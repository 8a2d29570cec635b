// GPT-2 (Radford et al. 2019): learnt positions, norms first, and an output layer that is the token
// embedding.
#include "base/error.h"
#include "train/models/net.h"
#include "train/models/transformer.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

class Gpt : public Net {
 public:
  explicit Gpt(const TransformerShape& shape)
      : context_(shape.context),
        tokens(register_module("tokens", nn::Embedding(shape.vocabulary, shape.width))),
        positions(register_module("positions", nn::Embedding(shape.context, shape.width))),
        dropout(register_module("dropout", nn::Dropout(0.1))),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({shape.width})))) {
    for (int i = 0; i < shape.layers; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), TransformerLayer(shape, LayerStyle{})));
    if (!shape.tied)
      output =
          register_module("output", nn::Linear(nn::LinearOptions(shape.width, shape.vocabulary).bias(false)));
    init_transformer(*this);
  }

  torch::Tensor forward(const torch::Tensor& input) override {
    if (input.size(1) > context_)
      throw ConfigError(fmt::format("a text of {} tokens is longer than the model's context of {}",
                                    input.size(1), context_));
    const auto place = torch::arange(input.size(1), input.options());
    auto x = dropout->forward(tokens->forward(input) + positions->forward(place));
    for (auto& layer : layers) x = layer->forward(x);
    x = norm->forward(x);
    return output.is_empty() ? torch::linear(x, tokens->weight) : output->forward(x);
  }

 private:
  const int context_;
  nn::Embedding tokens, positions;
  nn::Dropout dropout;
  nn::LayerNorm norm;
  std::vector<TransformerLayer> layers;
  nn::Linear output{nullptr};
};

}  // namespace

std::shared_ptr<Net> make_gpt(const TransformerShape& shape) { return std::make_shared<Gpt>(shape); }

}  // namespace gradwire

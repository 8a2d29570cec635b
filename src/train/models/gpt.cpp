// GPT-2 (Radford et al. 2019): learnt positions, norms first, and an output layer that is the token
// embedding.
#include "base/error.h"
#include "train/models/transformer.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

class Gpt : public Transformer {
 public:
  explicit Gpt(const TransformerShape& shape) : Transformer(shape, LayerStyle{}), norm(add_norm("norm")) {
    add_layers();
    if (!shape.tied)
      output = nn::AnyModule(register_module(
          "output", nn::Linear(nn::LinearOptions(shape.width, shape.vocabulary).bias(false))));
    init_transformer(*this);
  }

 protected:
  Piece embedding() override {
    return {"embedding",
            {{"tokens", tokens.ptr()}, {"positions", positions.ptr()}, {"dropout", dropout.ptr()}},
            [tokens = tokens, positions = positions, dropout = dropout, group = group_,
             context = shape_.context](const torch::Tensor& input) mutable -> torch::Tensor {
              const torch::Tensor words = tokens.forward(input);
              const torch::Tensor by_place = positions.forward(places_of(input, context));
              return dropout.forward(words + rows_like(group, by_place));
            }};
  }

  Piece head() override {
    if (!output.is_empty())
      return {"head",
              {{"norm", norm.ptr()}, {"output", output.ptr()}},
              [norm = norm, output = output](const torch::Tensor& input) mutable -> torch::Tensor {
                const torch::Tensor x = norm.forward(input);
                return output.forward(x);
              }};
    return {"head",
            {{"norm", norm.ptr()}, {"tokens", tokens.ptr()}},
            [norm = norm, tokens = tokens, group = group_](const torch::Tensor& input) mutable {
              const torch::Tensor x = norm.forward(input);
              const auto weight = weight_of(tokens);
              return group == nullptr ? torch::linear(x, weight) : vocabulary_logits(*group, x, weight);
            }};
  }

  void split_ends(TensorGroup& group) override {
    split_norm("norm", norm);
    if (output.is_empty()) return;
    const VocabularyLinear cut(nn::Linear(std::dynamic_pointer_cast<nn::LinearImpl>(output.ptr())), group);
    replace_module("output", cut.ptr());
    output = nn::AnyModule(cut);
  }

 private:
  nn::AnyModule norm, output;
};

}  // namespace

std::shared_ptr<Net> make_gpt(const TransformerShape& shape) { return std::make_shared<Gpt>(shape); }

}  // namespace gradwire

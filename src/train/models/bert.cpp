// BERT (Devlin et al. 2018) with its head for masked words: learnt positions and segments, norms last, the
// token embedding as output layer with a bias of its own.
#include "base/error.h"
#include "train/models/transformer.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

// The norms' epsilon is the published model's.
constexpr LayerStyle kBertStyle{
    .norm_first = false, .causal = false, .tanh_gelu = false, .norm_epsilon = 1e-12};

// A bias for each word, cut with the vocabulary.
class WordBiasImpl : public nn::Module, public SplitModule {
 public:
  explicit WordBiasImpl(std::int64_t words) { bias = register_parameter("bias", torch::zeros(words)); }
  void split(TensorGroup& group) {
    const torch::NoGradGuard no_grad;
    bias.set_data(part_of(bias.detach(), cut_, group.size(), group.rank()));
    split_ = true;
  }
  TensorCut cut_of(const std::string&) const override { return split_ ? cut_ : TensorCut{}; }

  torch::Tensor bias;

 private:
  const TensorCut cut_{.dim = 0};
  bool split_ = false;
};
TORCH_MODULE(WordBias);

class Bert : public Transformer {
 public:
  explicit Bert(const TransformerShape& shape)
      : Transformer(shape, kBertStyle),
        segments(register_module("segments", nn::Embedding(2, shape.width))),
        norm(add_norm("norm")),
        transform(register_module("transform", nn::Linear(shape.width, shape.width))),
        transform_norm(add_norm("transform_norm")),
        output(register_module("output", WordBias(shape.vocabulary))) {
    add_layers();
    init_transformer(*this);
  }

 protected:
  // The whole input is one segment.
  Piece embedding() override {
    return {"embedding",
            {{"tokens", tokens.ptr()},
             {"positions", positions.ptr()},
             {"segments", segments.ptr()},
             {"norm", norm.ptr()},
             {"dropout", dropout.ptr()}},
            [tokens = tokens, positions = positions, segments = segments, norm = norm, dropout = dropout,
             group = group_, context = shape_.context](const torch::Tensor& input) mutable -> torch::Tensor {
              const torch::Tensor words = tokens.forward(input);
              const torch::Tensor by_place = positions.forward(places_of(input, context));
              const auto segment = segments->forward(torch::zeros_like(input));
              const torch::Tensor normed = norm.forward(words + rows_like(group, by_place + segment));
              return dropout.forward(normed);
            }};
  }

  Piece head() override {
    return {"head",
            {{"transform", transform.ptr()},
             {"transform_norm", transform_norm.ptr()},
             {"tokens", tokens.ptr()},
             {"output", output.ptr()}},
            [transform = transform, norm = transform_norm, tokens = tokens, output = output,
             group = group_](const torch::Tensor& input) mutable {
              const torch::Tensor active = torch::gelu(transform.forward(input));
              const torch::Tensor x = norm.forward(active);
              const auto weight = weight_of(tokens);
              return group == nullptr ? torch::linear(x, weight, output->bias)
                                      : vocabulary_logits(*group, x, weight, output->bias);
            }};
  }

  void split_ends(TensorGroup& group) override {
    split_norm("norm", norm);
    split_norm("transform_norm", transform_norm);
    const BetweenLinear cut(nn::Linear(std::dynamic_pointer_cast<nn::LinearImpl>(transform.ptr())), group);
    replace_module("transform", cut.ptr());
    transform = nn::AnyModule(cut);
    output->split(group);
  }

 private:
  nn::Embedding segments;
  nn::AnyModule norm, transform, transform_norm;
  WordBias output;
};

}  // namespace

std::shared_ptr<Net> make_bert(const TransformerShape& shape) { return std::make_shared<Bert>(shape); }

}  // namespace gradwire

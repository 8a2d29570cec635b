#include "train/tensor/vocabulary.h"

#include "base/error.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kIgnored = -100;

torch::Tensor own_words(const torch::Tensor& whole, const TensorGroup& group) {
  if (!whole.defined()) return whole;
  const torch::NoGradGuard no_grad;
  return part_of(whole.detach(), {.dim = 0}, group.size(), group.rank());
}

// Where a number is one of `words`: which of them; elsewhere 0.
struct Found {
  torch::Tensor here, index;
};
Found find_words(const torch::Tensor& numbers, const Share& words) {
  const auto here = numbers.ge(words.begin).logical_and(numbers.lt(words.end()));
  return {here, (numbers - words.begin).masked_fill(here.logical_not(), 0)};
}

// With p = softmax over all ranks' words: loss = -log p[target], and its gradient is p, less 1 at the target.
class CutCrossEntropy : public torch::autograd::Function<CutCrossEntropy> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& logits,
                               const torch::Tensor& targets, std::int64_t group_address,
                               std::int64_t vocabulary) {
    auto& group = *reinterpret_cast<TensorGroup*>(group_address);
    auto rows = logits.reshape({-1, logits.size(-1)});
    if (rows.element_size() < 4) rows = rows.to(torch::kFloat32);
    const auto dtype = dtype_of(rows.scalar_type(), "logits");
    const auto [here, index] = find_words(targets, share_of(vocabulary, group.size(), group.rank()));

    auto most = rows.amax(1);
    group.run(all_reduce(memory_of(most), dtype, Reduction::max), "tensor all-reduce");
    const auto shifted = rows - most.unsqueeze(1);
    const auto powers = shifted.exp();
    const auto wanted = shifted.gather(1, index.unsqueeze(1)).squeeze(1).masked_fill(here.logical_not(), 0);
    auto sums = torch::stack({powers.sum(1), wanted});
    group.run(all_reduce(memory_of(sums), dtype), "tensor all-reduce");

    const auto counted = targets.ne(kIgnored);
    const auto weights = counted.to(rows.scalar_type()) / counted.sum();
    context->save_for_backward({powers / sums[0].unsqueeze(1), here, index, weights});
    context->saved_data["shape"] = logits.sizes().vec();
    context->saved_data["type"] = static_cast<std::int64_t>(logits.scalar_type());
    return ((sums[0].log() - sums[1]) * weights).sum();
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &likely = saved[0], &here = saved[1], &index = saved[2], &weights = saved[3];
    const auto less = here.to(likely.scalar_type()).neg().unsqueeze(1);
    auto rows = likely.scatter_add(1, index.unsqueeze(1), less) * (weights * gradients[0]).unsqueeze(1);
    const auto type = static_cast<torch::ScalarType>(context->saved_data["type"].toInt());
    variable_list result(4);
    result[0] = rows.to(type).view(context->saved_data["shape"].toIntVector());
    return result;
  }
};

}  // namespace

VocabularyEmbeddingImpl::VocabularyEmbeddingImpl(const torch::nn::Embedding& whole, TensorGroup& group)
    : group_(&group), words_(share_of(whole->options.num_embeddings(), group.size(), group.rank())) {
  weight = register_parameter("weight", own_words(whole->weight, group));
}

torch::Tensor VocabularyEmbeddingImpl::forward(const torch::Tensor& tokens) {
  const auto [here, index] = find_words(tokens, words_);
  const auto mine = torch::embedding(weight, index).masked_fill(here.logical_not().unsqueeze(-1), 0);
  return group_->sequence_parallel() ? scatter_sums(*group_, mine) : leave_split(*group_, mine);
}

VocabularyLinearImpl::VocabularyLinearImpl(const torch::nn::Linear& whole, TensorGroup& group)
    : group_(&group) {
  weight = register_parameter("weight", own_words(whole->weight, group));
  bias = register_parameter("bias", own_words(whole->bias, group), whole->bias.defined());
}

torch::Tensor VocabularyLinearImpl::forward(const torch::Tensor& input) {
  return vocabulary_logits(*group_, input, weight, bias);
}

torch::Tensor vocabulary_logits(TensorGroup& group, const torch::Tensor& input, const torch::Tensor& weight,
                                const torch::Tensor& bias) {
  const auto all = group.sequence_parallel() ? gather_rows(group, input) : enter_split(group, input);
  return torch::linear(all, weight, bias);
}

torch::Tensor vocabulary_cross_entropy(TensorGroup& group, const torch::Tensor& logits,
                                       const torch::Tensor& targets, std::int64_t vocabulary) {
  return CutCrossEntropy::apply(logits, targets.reshape(-1), reinterpret_cast<std::int64_t>(&group),
                                vocabulary);
}

torch::Tensor vocabulary_argmax(TensorGroup& group, const torch::Tensor& logits, std::int64_t vocabulary) {
  const torch::NoGradGuard no_grad;
  const auto [most, index] = logits.to(torch::kFloat64).max(-1);
  const Share words = share_of(vocabulary, group.size(), group.rank());
  const auto mine = torch::stack({most, (index + words.begin).to(torch::kFloat64)}).contiguous();
  auto shape = mine.sizes().vec();
  shape.insert(shape.begin(), group.size());
  auto all = torch::empty(shape, mine.options());
  group.run(all_gather(memory_of(mine), memory_of(all), DType::f64), "tensor all-gather");
  const auto best = all.select(1, 0).argmax(0, /*keepdim=*/true);
  return all.select(1, 1).gather(0, best).squeeze(0).to(torch::kLong);
}

}  // namespace gradwire

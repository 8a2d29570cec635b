#include "train/tensor/linear.h"

#include <ATen/CPUGeneratorImpl.h>

#include <limits>

#include "base/error.h"

namespace gradwire {
namespace {

struct OwnPart {
  const TensorGroup& group;
  TensorCut cut = {};
};

// Of a whole layer's parameter, what this rank has; undefined stays undefined.
torch::Tensor register_part(torch::nn::Module& owner, const char* name, const torch::Tensor& whole,
                            const OwnPart& own) {
  if (!whole.defined()) return owner.register_parameter(name, {}, false);
  const torch::NoGradGuard no_grad;
  return owner.register_parameter(name, part_of(whole.detach(), own.cut, own.group.size(), own.group.rank()),
                                  whole.requires_grad());
}

}  // namespace

ColumnLinearImpl::ColumnLinearImpl(const torch::nn::Linear& whole, TensorGroup& group, int blocks)
    : group_(&group), blocks_(blocks) {
  check_divides(fmt::format("{} outputs in {} blocks", whole->options.out_features(), blocks),
                whole->options.out_features() / blocks, group.size());
  weight = register_part(*this, "weight", whole->weight, {group, cut_of("weight")});
  bias = register_part(*this, "bias", whole->bias, {group, cut_of("bias")});
}

torch::Tensor ColumnLinearImpl::forward(const torch::Tensor& input) {
  const auto all = group_->sequence_parallel() ? gather_rows(*group_, input) : enter_split(*group_, input);
  return torch::linear(all, weight, bias);
}

RowLinearImpl::RowLinearImpl(const torch::nn::Linear& whole, TensorGroup& group) : group_(&group) {
  check_divides(fmt::format("{} inputs", whole->options.in_features()), whole->options.in_features(),
                group.size());
  weight = register_part(*this, "weight", whole->weight, {group, cut_of("weight")});
  bias = register_part(*this, "bias", whole->bias, {group, cut_of("bias")});
}

TensorCut RowLinearImpl::cut_of(const std::string& parameter) const {
  return parameter == "weight" ? TensorCut{.dim = 1} : TensorCut{};
}

torch::Tensor RowLinearImpl::forward(const torch::Tensor& input) {
  const auto addend = torch::linear(input, weight);
  if (!group_->sequence_parallel()) {
    const auto sum = leave_split(*group_, addend);
    return bias.defined() ? sum + bias : sum;
  }
  const auto sum = scatter_sums(*group_, addend);
  return bias.defined() ? sum + join_gradients(*group_, {bias})[0] : sum;
}

BetweenNormImpl::BetweenNormImpl(const torch::nn::LayerNorm& whole, TensorGroup& group)
    : group_(&group), options_(whole->options) {
  weight = register_part(*this, "weight", whole->weight, {group});
  bias = register_part(*this, "bias", whole->bias, {group});
}

BetweenLinearImpl::BetweenLinearImpl(const torch::nn::Linear& whole, TensorGroup& group) : group_(&group) {
  weight = register_part(*this, "weight", whole->weight, {group});
  bias = register_part(*this, "bias", whole->bias, {group});
}

torch::Tensor BetweenLinearImpl::forward(const torch::Tensor& input) {
  if (!group_->sequence_parallel()) return torch::linear(input, weight, bias);
  const auto both = join_gradients(*group_, {weight, bias});
  return torch::linear(input, both[0], both[1]);
}

torch::Tensor BetweenNormImpl::forward(const torch::Tensor& input) {
  std::vector<torch::Tensor> both{weight, bias};
  if (group_->sequence_parallel() && weight.defined()) both = join_gradients(*group_, both);
  return torch::layer_norm(input, options_.normalized_shape(), both[0], both[1], options_.eps());
}

torch::Tensor PartDropoutImpl::forward(const torch::Tensor& input) {
  if (!is_training() || share_ == 0) return input;
  const auto drawn = torch::randint(std::numeric_limits<std::int64_t>::max(), {1}, torch::kLong);
  const auto seed = static_cast<std::uint64_t>(drawn.item<std::int64_t>());
  const auto own = at::detail::createCPUGenerator(
      seed + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(group_->rank()) + 1));
  auto kept = torch::empty(input.sizes(), torch::TensorOptions().dtype(input.dtype()));
  kept.bernoulli_(1 - share_, own).div_(1 - share_);
  return input * kept.to(input.device());
}

double dropped_share(const torch::nn::AnyModule& dropout) {
  return std::dynamic_pointer_cast<torch::nn::DropoutImpl>(dropout.ptr())->options.p();
}

torch::nn::AnyModule make_between_dropout(double share, TensorGroup& group) {
  if (group.sequence_parallel()) return torch::nn::AnyModule(PartDropout(share, group));
  return torch::nn::AnyModule(torch::nn::Dropout(share));
}

}  // namespace gradwire

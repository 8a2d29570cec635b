// Which parameters a forward used: a walk through autograd's graph from what it gave out.
#pragma once

#include <memory>
#include <vector>

#include <torch/torch.h>

namespace gradwire {

// The node that adds to a parameter's gradient, held by what this libtorch holds nodes with.
using GradientNode = decltype(torch::autograd::impl::grad_accumulator(std::declval<const torch::Tensor&>()));
using GradientNodes = std::vector<GradientNode>;

// The indices of `nodes` that no output depends on.
std::vector<int> find_unused(const std::vector<torch::Tensor>& outputs, const GradientNodes& nodes);

}  // namespace gradwire

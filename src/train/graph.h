// Which parameters a forward used: a walk through autograd's graph from what it gave out.
#pragma once

#include <memory>
#include <vector>

#include <torch/torch.h>

namespace gradwire {

using GradientNodes = std::vector<std::shared_ptr<torch::autograd::Node>>;  // of the parameters' gradients

// The indices of `nodes` that no output depends on.
std::vector<int> find_unused(const std::vector<torch::Tensor>& outputs, const GradientNodes& nodes);

}  // namespace gradwire

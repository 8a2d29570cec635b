#include "train/precision/master_weights.h"

#include "base/error.h"

namespace gradwire {
namespace {

std::vector<torch::Tensor> in_float32(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> result;
  for (const auto& tensor : tensors)
    result.push_back(tensor.detach().to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true));
  return result;
}

}  // namespace

MasterWeights::MasterWeights(std::vector<torch::Tensor> parameters, torch::ScalarType type)
    : MasterWeights(parameters, in_float32(parameters), type) {}

MasterWeights::MasterWeights(std::vector<torch::Tensor> parameters, std::vector<torch::Tensor> values,
                             torch::ScalarType type)
    : model_(std::move(parameters)), type_(type), masters_(in_float32(values)), gradients_(model_.size()) {
  check(masters_.size() == model_.size(), "a master for each parameter");
  for (std::size_t i = 0; i < model_.size(); ++i)
    if (model_[i].requires_grad()) masters_[i].set_requires_grad(true);
  give_back();
}

void MasterWeights::take_gradients() {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < model_.size(); ++i) {
    const auto& gradient = model_[i].grad();
    auto& kept = gradients_[i];
    if (gradient.defined() && !kept.defined()) kept = torch::empty_like(masters_[i], torch::kFloat32);
    if (gradient.defined()) kept.copy_(gradient.scalar_type() == type_ ? gradient : gradient.to(type_));
    masters_[i].mutable_grad() = gradient.defined() ? kept : torch::Tensor();
  }
}

void MasterWeights::give_back() {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < model_.size(); ++i) {
    torch::Tensor parameter = model_[i];
    parameter.copy_(parameter.scalar_type() == type_ ? masters_[i] : masters_[i].to(type_));
  }
}

bool can_compute(torch::ScalarType type, torch::Device device) {
  const auto options = torch::TensorOptions().dtype(type).device(device);
  try {
    torch::mm(torch::zeros({2, 2}, options), torch::zeros({2, 2}, options));
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

}  // namespace gradwire

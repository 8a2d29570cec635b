#include <cmath>

#include "base/error.h"
#include "train/ddp_core.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

double norm_of(const std::vector<torch::Tensor>& gradients, double norm_type) {
  std::vector<torch::Tensor> norms;
  for (const auto& gradient : gradients) norms.push_back(gradient.norm(norm_type).to(torch::kFloat64));
  if (norms.empty()) return 0;
  const auto all = torch::stack(norms);
  return (std::isinf(norm_type) ? all.max() : all.norm(norm_type)).item<double>();
}

}  // namespace

// Every rank has the same gradients, but processors of different kinds may add them up differently: rank 0's
// norm counts.
double clip_grad_norm(DdpCore& core, double max_norm, double norm_type) {
  if (!(max_norm > 0) || !(norm_type > 0))
    throw ConfigError(
        fmt::format("clip_grad_norm: max_norm {} and norm_type {} must be above 0", max_norm, norm_type));
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : core.model().parameters)
    if (parameter.tensor.grad().defined()) gradients.push_back(parameter.tensor.grad());
  auto total = torch::tensor(norm_of(gradients, norm_type), torch::kFloat64).to(core.device());
  core.communicator().run(broadcast(memory_of(total), DType::f64, 0));
  const double norm = total.item<double>();
  // The 1e-6 is torch::nn::utils::clip_grad_norm_'s own: it keeps a norm of zero from dividing.
  if (const double factor = max_norm / (norm + 1e-6); factor < 1)
    for (auto& gradient : gradients) gradient.mul_(factor);
  return norm;
}

}  // namespace gradwire

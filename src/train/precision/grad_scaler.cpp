#include "train/precision/grad_scaler.h"

#include "train/tensor_bytes.h"

namespace gradwire {

void GradScaler::unscale(torch::optim::Optimizer& optimizer) {
  if (unscaled_) return;
  const torch::NoGradGuard no_grad;
  bool finite = true;
  torch::Device device = torch::kCPU;
  for (auto& group : optimizer.param_groups())
    for (const auto& parameter : group.params()) {
      auto gradient = parameter.grad();
      if (!gradient.defined()) continue;
      gradient.mul_(1 / scale_.value());
      finite = finite && torch::isfinite(gradient).all().item<bool>();
      device = gradient.device();
    }
  auto shared = torch::tensor(finite ? 0.0F : 1.0F).to(device);
  all_reduce(communicator_, shared, Reduction::max);
  overflowed_ = shared.item<float>() > 0;
  unscaled_ = true;
}

bool GradScaler::step(torch::optim::Optimizer& optimizer) {
  unscale(optimizer);
  if (!overflowed_) optimizer.step();
  return !overflowed_;
}

void GradScaler::update() {
  if (unscaled_) scale_.update(overflowed_);
  unscaled_ = overflowed_ = false;
}

}  // namespace gradwire

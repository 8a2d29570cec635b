// Loss scaling for float16, as torch.cuda.amp.GradScaler has it, for ranks that must agree on whether a step overflowed:
//
//   gradwire::GradScaler scaler(*comm);
//   scaler.scale(loss).backward();
//   scaler.unscale(optimizer);             // before clipping; step() does it otherwise
//   scaler.step(optimizer);                // left out where any rank's gradients are not finite
//   scaler.update();
//
// All ranks call unscale() or step(). Works with DistributedDataParallel and with shares of ShardedDataParallel alike.
// Belongs to the thread that trains; the communicator is borrowed.
#pragma once

#include <torch/torch.h>

#include "comm/communicator.h"
#include "train/precision/loss_scale.h"

namespace gradwire {

class GradScaler {
 public:
  explicit GradScaler(Communicator& communicator, const LossScaleOptions& options = {})
      : communicator_(communicator), scale_(options) {}

  torch::Tensor scale(const torch::Tensor& loss) const { return loss * scale_.value(); }
  // Divides the gradients of the optimizer's parameters, once between two updates.
  void unscale(torch::optim::Optimizer& optimizer);
  bool overflowed() const { return overflowed_; }  // as unscale() found, on any rank
  bool step(torch::optim::Optimizer& optimizer);   // whether it was made
  void update();

  LossScale& state() { return scale_; }
  const LossScale& state() const { return scale_; }

 private:
  Communicator& communicator_;
  LossScale scale_;
  bool unscaled_ = false, overflowed_ = false;
};

}  // namespace gradwire

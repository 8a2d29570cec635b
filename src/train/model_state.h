// The ranks begin with one model and keep it one: they agree on what it is made of, and its tensors come from
// one rank. All ranks call these together.
#pragma once

#include <memory>
#include <vector>

#include <torch/torch.h>

#include "comm/communicator.h"
#include "train/ddp.h"

namespace gradwire {

// Throws ConfigError on every rank when one rank's tensors differ from rank 0's in number, name, shape, type,
// memory layout or in whether they want gradients; it names the rank, the tensor and both sides.
void agree_on_model(const ModelTensors& model, Communicator& communicator, torch::Device device);

// Sends tensors from one rank to all. Small ones travel together through memory of the communicator's.
class TensorBroadcast {
 public:
  TensorBroadcast(std::vector<NamedTensor> tensors, Communicator& communicator);
  void from(Rank root);
  bool empty() const { return tensors_.empty(); }

 private:
  void send_packed(Rank root);

  const std::vector<NamedTensor> tensors_;
  Communicator& communicator_;
  std::vector<torch::Tensor> large_;           // dense, sent from where they are
  std::vector<torch::Tensor> small_, places_;  // and their places in packed_
  std::shared_ptr<Memory> packed_;
};

}  // namespace gradwire

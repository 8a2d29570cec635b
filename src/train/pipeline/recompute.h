// Activation recomputation (checkpointing, Chen et al. 2016): a part of a model keeps its input alone and runs again
// when backward comes to it. The second run draws from torch's generator what the first one drew, so dropout is the
// same, and communicates as the first one did.
//
//   x = recompute([&](const torch::Tensor& in) { return layer->forward(in); }, x, layer->parameters());
//
// Works inside DistributedDataParallel: gradients reach their parameters by the graph it knows.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <vector>

namespace gradwire {

using PartForward = std::function<torch::Tensor(const torch::Tensor&)>;

// `parameters` are those the part uses and that want gradients. Without gradients it is the forward itself.
torch::Tensor recompute(PartForward forward, const torch::Tensor& input,
                        const std::vector<torch::Tensor>& parameters);

// Puts torch's generator of a device back to where it was.
class KeptGenerator {
 public:
  explicit KeptGenerator(torch::Device device = torch::kCPU);
  ~KeptGenerator();
  KeptGenerator(const KeptGenerator&) = delete;
  KeptGenerator& operator=(const KeptGenerator&) = delete;

 private:
  const torch::Device device_;
  const torch::Tensor state_;
};

}  // namespace gradwire

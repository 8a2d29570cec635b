// What the tests of DistributedDataParallel with a small model of their own share: the model, and batches
// that every rank can make whole.
#pragma once

#include <memory>

#include <torch/torch.h>

#include "train/gradients_fixture.h"

namespace gradwire {

// Four layers, the third of which can be left out of a forward.
struct Net : torch::nn::Module {
  explicit Net(int width = 16)
      : first(register_module("first", torch::nn::Linear(6, width))),
        middle(register_module("middle", torch::nn::Linear(width, width))),
        extra(register_module("extra", torch::nn::Linear(width, width))),
        last(register_module("last", torch::nn::Linear(width, 3))) {}

  torch::Tensor forward(torch::Tensor input, bool use_extra = true) {
    auto hidden = torch::tanh(middle(torch::tanh(first(input))));
    if (use_extra) hidden = torch::tanh(extra(hidden));
    return last(hidden);
  }

  torch::nn::Linear first, middle, extra, last;
};

// Registers its layers in the reverse of the order in which it uses them: the first buckets are the wrong ones.
struct OddNet : torch::nn::Module {
  explicit OddNet(int width = 16)
      : last(register_module("last", torch::nn::Linear(width, 3))),
        extra(register_module("extra", torch::nn::Linear(width, width))),
        middle(register_module("middle", torch::nn::Linear(width, width))),
        first(register_module("first", torch::nn::Linear(6, width))) {}

  torch::Tensor forward(torch::Tensor input, bool use_extra = true) {
    auto hidden = torch::tanh(middle(torch::tanh(first(input))));
    if (use_extra) hidden = torch::tanh(extra(hidden));
    return last(hidden);
  }

  torch::nn::Linear last, extra, middle, first;
};

template <typename Model = Net, typename... Arguments>
std::shared_ptr<Model> make_model(torch::ScalarType type = torch::kFloat32, Arguments&&... arguments) {
  torch::manual_seed(42);
  auto model = std::make_shared<Model>(std::forward<Arguments>(arguments)...);
  model->to(type);
  return model;
}

struct Batch {
  torch::Tensor input, target;
  Batch part(Rank rank, int world) const {
    const auto count = input.size(0) / world;
    return {input.narrow(0, rank * count, count), target.narrow(0, rank * count, count)};
  }
};

// The same on every rank: divides evenly among 1, 2, 3 and 4.
inline Batch make_batch(torch::ScalarType type = torch::kFloat32, std::int64_t size = 24,
                        std::uint64_t seed = 5) {
  torch::manual_seed(seed);
  const auto options = torch::TensorOptions().dtype(type);
  return {torch::randn({size, 6}, options), torch::randn({size, 3}, options)};
}

inline torch::Tensor loss_of(const torch::Tensor& output, const torch::Tensor& target) {
  return torch::mse_loss(output, target);
}

}  // namespace gradwire

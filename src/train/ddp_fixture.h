// What the tests of DistributedDataParallel share: small models, batches that every rank can make whole, and
// the gradients one process would get. Ranks are processes: each has an autograd engine of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "comm/make.h"
#include "support/run_ranks.h"
#include "train/ddp.h"

namespace gradwire {

// Three layers, the last of which can be left out of a forward.
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

template <typename Model>
std::vector<torch::Tensor> gradients_of(Model& model) {
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : model.parameters()) gradients.push_back(parameter.grad());
  return gradients;
}

// The largest difference relative to the largest value of its tensor; infinite where only one side has a
// tensor.
inline double worst_difference(const std::vector<torch::Tensor>& got,
                               const std::vector<torch::Tensor>& expected) {
  double worst = got.size() == expected.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    if (got[i].defined() != expected[i].defined()) return INFINITY;
    if (!got[i].defined()) continue;
    const double scale = expected[i].abs().max().item<double>();
    const double difference = (got[i] - expected[i]).abs().max().item<double>();
    if (difference > 0) worst = std::max(worst, difference / scale);
  }
  return worst;
}

inline double tolerance(torch::ScalarType type) { return type == torch::kFloat64 ? 1e-12 : 1e-6; }

inline torch::Tensor flat_parameters(const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> parts;
  for (const auto& parameter : parameters) parts.push_back(parameter.detach().flatten().to(torch::kFloat64));
  return torch::cat(parts);
}

// Every rank holds the bits of rank 0's.
inline void expect_identical(Communicator& communicator, const std::vector<torch::Tensor>& tensors) {
  const auto mine = flat_parameters(tensors);
  auto theirs = mine.clone();
  communicator.run(broadcast({static_cast<std::byte*>(theirs.data_ptr()), theirs.nbytes()}, DType::f64, 0));
  EXPECT_TRUE(torch::equal(mine, theirs)) << "rank " << communicator.rank();
}

using DdpRank = std::function<void(const World&, Communicator&)>;

inline void run_ddp(int ranks, const std::string& backend, const DdpRank& function) {
  expect_all_ok(run_processes(ranks,
                              [&](const World& world) {
                                torch::set_num_threads(1);
                                const auto communicator = make_communicator(world, backend);
                                function(world, *communicator);
                                communicator->run(
                                    barrier());  // nobody goes while another still needs its memory
                              },
                              {.deadline = 120}));
}

// The text of the ConfigError or other Error that a call must throw.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace gradwire

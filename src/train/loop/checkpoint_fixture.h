// For tests of checkpoints: a model that was trained a little, and ranks as threads.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>
#include <mutex>

#include "support/run_ranks.h"
#include "train/loop/checkpoint.h"

namespace gradwire {

// A model after a few steps of training, in a state that no other seed gives.
struct Trained {
  explicit Trained(int seed, int width = 5, bool adam = true) {
    static std::mutex one_at_a_time;  // ranks are threads here, and the seed is the process's
    std::unique_lock lock(one_at_a_time);
    torch::manual_seed(static_cast<std::uint64_t>(seed));
    model = torch::nn::Sequential(torch::nn::Linear(3, width), torch::nn::BatchNorm1d(width),
                                  torch::nn::Linear(width, 2));
    lock.unlock();
    for (const auto& item : model->named_parameters())
      state.model.parameters.push_back({item.key(), item.value()});
    for (const auto& item : model->named_buffers()) state.model.buffers.push_back({item.key(), item.value()});
    if (adam)
      optimizer =
          std::make_unique<torch::optim::AdamW>(model->parameters(), torch::optim::AdamWOptions(0.01));
    else
      optimizer = std::make_unique<torch::optim::SGD>(model->parameters(),
                                                      torch::optim::SGDOptions(0.1).momentum(0.9));
    state.optimizer = optimizer.get();
    for (int i = 0; i < 3; ++i) step();
  }

  double step() {
    optimizer->zero_grad();
    const auto loss = model->forward(torch::linspace(0, 1, 12).view({4, 3})).square().mean();
    loss.backward();
    optimizer->step();
    return loss.item<double>();
  }

  torch::nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  TrainingState state;
};

inline void on_ranks(int ranks, const RankFunction& function) { expect_all_ok(run_threads(ranks, function)); }

}  // namespace gradwire

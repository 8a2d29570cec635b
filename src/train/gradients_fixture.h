// What every test of DistributedDataParallel shares, whatever its models are: ranks that are processes, each
// with an autograd engine of its own, and how far gradients are from those of one process.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "comm/make.h"
#include "support/run_ranks.h"
#include "train/ddp.h"

namespace gradwire {

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

// Backends that tell hosts apart ("shm+tcp") get two: even ranks on the one, odd ranks on the other.
inline void run_ddp(int ranks, const std::string& backend, const DdpRank& function) {
  expect_all_ok(run_processes(ranks,
                              [&](const World& world) {
                                torch::set_num_threads(1);
                                if (backend.find('+') != std::string::npos)
                                  ::setenv("GRADWIRE_HOST", world.rank % 2 == 0 ? "even" : "odd", 1);
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

// What tests of tensor parallelism share: ranks that are one group, and a layer's outputs and gradients beside those
// of the unsplit layer.
#pragma once

#include <map>
#include <string>

#include "train/gradients_fixture.h"
#include "train/tensor/moves.h"

namespace gradwire {

inline void run_group(int ranks, const TensorGroupOptions& options,
                      const std::function<void(TensorGroup&)>& test, const std::string& backend = "shm") {
  run_ddp(ranks, backend, [&](const World&, Communicator& communicator) {
    torch::manual_seed(7);
    TensorGroup group(communicator, options);
    test(group);
  });
}

inline double difference(const torch::Tensor& got, const torch::Tensor& expected) {
  return worst_difference({got}, {expected});
}

// Gradients of a cut model are the parts of the whole one's.
inline void expect_parts(torch::nn::Module& cut, const std::map<std::string, torch::Tensor>& whole,
                         const TensorGroup& group) {
  const auto cuts = cuts_of(cut);
  for (const auto& item : cut.named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    const auto part = part_of(whole.at(item.key()), cuts.at(item.key()), group.size(), group.rank());
    EXPECT_LT(difference(item.value().grad(), part), 1e-10) << item.key() << " on rank " << group.rank();
  }
}

inline std::map<std::string, torch::Tensor> gradients_by_name(torch::nn::Module& model) {
  std::map<std::string, torch::Tensor> gradients;
  for (const auto& item : model.named_parameters()) gradients[item.key()] = item.value().grad().clone();
  return gradients;
}

}  // namespace gradwire

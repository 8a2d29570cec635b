// What the tests of sharded training share: small models of each kind, and one process to compare with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/gradients_fixture.h"
#include "train/models/net.h"
#include "train/sharded/sharded.h"

namespace gradwire {

struct SmallModel {
  std::string name;
  std::function<std::shared_ptr<Net>()> make;
  std::int64_t tokens = 0;  // of a sample; 0: 1024 numbers
  std::int64_t classes = 10;
};

inline SmallModel small_mlp() {
  return {"mlp", [] { return make_mlp(8); }, 0, 1024};
}
inline SmallModel small_gpt(bool tied) {
  const TransformerShape shape{
      .layers = 2, .width = 16, .heads = 2, .context = 8, .vocabulary = 50, .tied = tied};
  return {tied ? "gpt" : "gpt with an output layer", [=] { return make_gpt(shape); }, 8, 50};
}

// The same on every rank; without dropout, of which ranks draw their own.
inline std::shared_ptr<Net> made(const SmallModel& model, torch::ScalarType type) {
  torch::manual_seed(42);
  auto net = model.make();
  net->to(type);
  for (const auto& module : net->modules())
    if (auto* dropout = module->as<torch::nn::Dropout>()) dropout->options.p(0);
  return net;
}

struct SmallBatch {
  torch::Tensor input, target;
  SmallBatch part(Rank rank, int ranks) const {
    const auto count = input.size(0) / ranks;
    return {input.narrow(0, rank * count, count), target.narrow(0, rank * count, count)};
  }
};

// 12 divides evenly among 1, 2, 3 and 4 ranks.
inline SmallBatch batch_for(const SmallModel& model, torch::ScalarType type, std::uint64_t seed,
                            std::int64_t size = 12) {
  torch::manual_seed(seed);
  if (model.tokens == 0)
    return {torch::randn({size, 1024}).to(type), torch::randint(0, model.classes, {size}, torch::kLong)};
  return {torch::randint(0, model.classes, {size, model.tokens}, torch::kLong),
          torch::randint(0, model.classes, {size, model.tokens}, torch::kLong)};
}

inline std::vector<torch::Tensor> tensors_in_order(const std::vector<NamedTensor>& named) {
  std::vector<torch::Tensor> result;
  for (const auto& [name, tensor] : named) result.push_back(tensor);
  return result;
}

}  // namespace gradwire

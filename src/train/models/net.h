// The built-in models: each takes one tensor, images or token numbers, and gives logits over classes in its
// last dimension. Made on the CPU with the weights that torch's seed says.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "train/catalog/catalog.h"
#include "train/pipeline/piece.h"
#include "train/tensor/group.h"

namespace gradwire {

// What is done with what a model gives. Keeps nothing of the model.
struct ModelEnd {
  std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& targets)> loss;
  std::function<torch::Tensor(const torch::Tensor& output)> answers;  // the likeliest classes
};

class Net : public torch::nn::Module {
 public:
  // Images are [batch, channels, height, width] floats (mlp: [batch, 1024]), text is [batch, length] of
  // int64.
  virtual torch::Tensor forward(const torch::Tensor& input);
  // What forward does, in the order of the pieces.
  virtual std::vector<Piece> pieces() = 0;
  // Leaves this rank's part of a transformer, whose forward then gives logits of this rank's words alone. Once.
  // Throws ConfigError for a model that can't be cut so.
  virtual void split(TensorGroup& group);
  virtual ModelEnd end() const;
};

std::shared_ptr<Net> make_mlp(int width = 2304);    // of its two hidden layers
std::shared_ptr<Net> make_convnet(int width = 32);  // 1 x 28 x 28 to 10 classes

// 3 channels of any size from 32 on.
struct ResnetShape {
  int depth = 18;                     // or 50
  int width = 64, classes = 1000;     // channels of the first stage; each stage has twice as many as the last
  Communicator* norm_over = nullptr;  // borrowed: batch norms are over the batch of all its ranks
};
std::shared_ptr<Net> make_resnet(const ResnetShape& shape);
std::shared_ptr<Net> make_gpt(const TransformerShape& shape);
std::shared_ptr<Net> make_bert(const TransformerShape& shape);

// `norm_over` is as in ResnetShape; other models have no batch norms.
std::shared_ptr<Net> make_model(const TrainableModel& model, Communicator* norm_over = nullptr);

// Cross-entropy over the last dimension, in float32 or better; targets of -100 do not count.
torch::Tensor loss_of(const torch::Tensor& logits, const torch::Tensor& targets);

}  // namespace gradwire

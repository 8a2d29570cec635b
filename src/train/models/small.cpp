// The models for trying things out: a multi-layer perceptron and the network of PyTorch's MNIST example.
#include "base/error.h"
#include "train/models/net.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

// A layer and its ReLU.
template <typename Layer>
Piece activated(const std::string& name, const Layer& layer) {
  return {name, {{name, layer.ptr()}}, [layer = layer](const torch::Tensor& input) mutable {
            return torch::relu(layer->forward(input));
          }};
}

class Mlp : public Net {
 public:
  explicit Mlp(int width)
      : fc1(register_module("fc1", nn::Linear(1024, width))),
        fc2(register_module("fc2", nn::Linear(width, width))),
        fc3(register_module("fc3", nn::Linear(width, 1024))) {}

  std::vector<Piece> pieces() override {
    return {activated("fc1", fc1),
            activated("fc2", fc2),
            {"fc3", {{"fc3", fc3.ptr()}}, [fc3 = fc3](const torch::Tensor& input) mutable {
               return fc3->forward(input);
             }}};
  }

 private:
  nn::Linear fc1, fc2, fc3;
};

class Convnet : public Net {
 public:
  explicit Convnet(int width)
      : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, width, 3)))),
        conv2(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(width, 2 * width, 3)))),
        dropout1(register_module("dropout1", nn::Dropout(0.25))),
        dropout2(register_module("dropout2", nn::Dropout(0.5))),
        fc1(register_module("fc1", nn::Linear(2 * width * 12 * 12, 128))),
        fc2(register_module("fc2", nn::Linear(128, 10))) {}

  std::vector<Piece> pieces() override {
    return {activated("conv1", conv1),
            {"conv2",
             {{"conv2", conv2.ptr()}, {"dropout1", dropout1.ptr()}},
             [conv2 = conv2, dropout1 = dropout1](const torch::Tensor& input) mutable {
               const auto x = torch::max_pool2d(torch::relu(conv2->forward(input)), 2);
               return dropout1->forward(x).flatten(1);
             }},
            activated("fc1", fc1),
            {"fc2",
             {{"dropout2", dropout2.ptr()}, {"fc2", fc2.ptr()}},
             [dropout2 = dropout2, fc2 = fc2](const torch::Tensor& input) mutable {
               return fc2->forward(dropout2->forward(input));
             }}};
  }

 private:
  nn::Conv2d conv1, conv2;
  nn::Dropout dropout1, dropout2;
  nn::Linear fc1, fc2;
};

}  // namespace

torch::Tensor Net::forward(const torch::Tensor& input) {
  torch::Tensor x = input;
  for (const Piece& piece : pieces()) x = piece.forward(x);
  return x;
}

void Net::split(TensorGroup&) {
  throw ConfigError(
      "tensor parallelism cuts transformers by their heads: this model has none (gpt and bert have)");
}

ModelEnd Net::end() const {
  return {[](const torch::Tensor& output, const torch::Tensor& targets) { return loss_of(output, targets); },
          [](const torch::Tensor& output) { return output.argmax(-1); }};
}

std::shared_ptr<Net> make_mlp(int width) { return std::make_shared<Mlp>(width); }
std::shared_ptr<Net> make_convnet(int width) { return std::make_shared<Convnet>(width); }

std::shared_ptr<Net> make_model(const TrainableModel& model, Communicator* norm_over) {
  switch (model.kind) {
    case ModelKind::mlp:
      return make_mlp();
    case ModelKind::convnet:
      return make_convnet();
    case ModelKind::resnet:
      return make_resnet({.depth = model.depth, .norm_over = norm_over});
    case ModelKind::gpt:
      return make_gpt(model.shape);
    case ModelKind::bert:
      return make_bert(model.shape);
  }
  throw Error("bug in gradwire: a model of no kind");
}

torch::Tensor loss_of(const torch::Tensor& logits, const torch::Tensor& targets) {
  const auto rows = logits.reshape({-1, logits.size(-1)});
  const bool narrow = rows.element_size() < 4;  // 16-bit floats
  return torch::nn::functional::cross_entropy(narrow ? rows.to(torch::kFloat32) : rows, targets.reshape(-1));
}

}  // namespace gradwire

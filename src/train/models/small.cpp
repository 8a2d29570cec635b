// The models for trying things out: a multi-layer perceptron and the network of PyTorch's MNIST example.
#include "base/error.h"
#include "train/models/net.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

class Mlp : public Net {
 public:
  explicit Mlp(int width)
      : fc1(register_module("fc1", nn::Linear(1024, width))),
        fc2(register_module("fc2", nn::Linear(width, width))),
        fc3(register_module("fc3", nn::Linear(width, 1024))) {}

  torch::Tensor forward(const torch::Tensor& input) override {
    return fc3->forward(torch::relu(fc2->forward(torch::relu(fc1->forward(input)))));
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

  torch::Tensor forward(const torch::Tensor& input) override {
    auto x = torch::relu(conv2->forward(torch::relu(conv1->forward(input))));
    x = dropout1->forward(torch::max_pool2d(x, 2)).flatten(1);
    return fc2->forward(dropout2->forward(torch::relu(fc1->forward(x))));
  }

 private:
  nn::Conv2d conv1, conv2;
  nn::Dropout dropout1, dropout2;
  nn::Linear fc1, fc2;
};

}  // namespace

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

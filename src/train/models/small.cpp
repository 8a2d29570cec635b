// The models for trying things out: a multi-layer perceptron and the network of PyTorch's MNIST example.
#include "base/error.h"
#include "train/models/net.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

class Mlp : public Net {
 public:
  torch::Tensor forward(const torch::Tensor& input) override {
    return fc3->forward(torch::relu(fc2->forward(torch::relu(fc1->forward(input)))));
  }

 private:
  nn::Linear fc1 = register_module("fc1", nn::Linear(1024, 2304));
  nn::Linear fc2 = register_module("fc2", nn::Linear(2304, 2304));
  nn::Linear fc3 = register_module("fc3", nn::Linear(2304, 1024));
};

class Convnet : public Net {
 public:
  torch::Tensor forward(const torch::Tensor& input) override {
    auto x = torch::relu(conv2->forward(torch::relu(conv1->forward(input))));
    x = dropout1->forward(torch::max_pool2d(x, 2)).flatten(1);
    return fc2->forward(dropout2->forward(torch::relu(fc1->forward(x))));
  }

 private:
  nn::Conv2d conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 32, 3)));
  nn::Conv2d conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(32, 64, 3)));
  nn::Dropout dropout1 = register_module("dropout1", nn::Dropout(0.25));
  nn::Dropout dropout2 = register_module("dropout2", nn::Dropout(0.5));
  nn::Linear fc1 = register_module("fc1", nn::Linear(9216, 128));
  nn::Linear fc2 = register_module("fc2", nn::Linear(128, 10));
};

}  // namespace

std::shared_ptr<Net> make_mlp() { return std::make_shared<Mlp>(); }
std::shared_ptr<Net> make_convnet() { return std::make_shared<Convnet>(); }

std::shared_ptr<Net> make_model(const TrainableModel& model) {
  switch (model.kind) {
    case ModelKind::mlp:
      return make_mlp();
    case ModelKind::convnet:
      return make_convnet();
    case ModelKind::resnet:
      return make_resnet(model.depth);
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

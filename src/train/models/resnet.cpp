// Residual networks (He, Zhang, Ren, Sun 2015, table 1), with the stride of a bottleneck in its 3x3
// convolution and the names of layers as torchvision has them, so that its weights fit.
#include "base/error.h"
#include "train/models/net.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

nn::Conv2d convolution(int in, int out, int kernel, int stride = 1) {
  nn::Conv2d made(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
  torch::nn::init::kaiming_normal_(made->weight, 0, torch::kFanOut, torch::kReLU);
  return made;
}

// A shortcut where size or channels change.
nn::Sequential shortcut(int in, int out, int stride) {
  if (in == out && stride == 1) return nn::Sequential();
  return nn::Sequential(convolution(in, out, 1, stride), nn::BatchNorm2d(out));
}

struct Step {
  int in, width, stride;
};

// Two 3x3 convolutions (18 layers), or 1x1, 3x3, 1x1 with four times as many channels at the end (50 layers).
class Block : public nn::Module {
 public:
  Block(const Step& step, bool bottleneck)
      : expansion_(bottleneck ? 4 : 1),
        conv1(register_module("conv1", bottleneck ? convolution(step.in, step.width, 1)
                                                  : convolution(step.in, step.width, 3, step.stride))),
        bn1(register_module("bn1", nn::BatchNorm2d(step.width))),
        conv2(register_module("conv2", convolution(step.width, step.width, 3, bottleneck ? step.stride : 1))),
        bn2(register_module("bn2", nn::BatchNorm2d(step.width))) {
    const int out = step.width * expansion_;
    if (bottleneck) {
      conv3 = register_module("conv3", convolution(step.width, out, 1));
      bn3 = register_module("bn3", nn::BatchNorm2d(out));
    }
    downsample = shortcut(step.in, out, step.stride);
    if (!downsample->is_empty()) register_module("downsample", downsample);
  }

  torch::Tensor forward(const torch::Tensor& input) {
    auto x = bn2->forward(conv2->forward(torch::relu(bn1->forward(conv1->forward(input)))));
    if (expansion_ > 1) x = bn3->forward(conv3->forward(torch::relu(x)));
    return torch::relu(x + (downsample->is_empty() ? input : downsample->forward(input)));
  }

 private:
  const int expansion_;
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Conv2d conv3{nullptr};
  nn::BatchNorm2d bn3{nullptr};
  nn::Sequential downsample{nullptr};
};

class Resnet : public Net {
 public:
  explicit Resnet(int depth) {
    const bool bottleneck = depth == 50;
    const int blocks[] = {bottleneck ? 3 : 2, bottleneck ? 4 : 2, bottleneck ? 6 : 2, bottleneck ? 3 : 2};
    nn::Conv2d first(nn::Conv2dOptions(3, 64, 7).stride(2).padding(3).bias(false));
    torch::nn::init::kaiming_normal_(first->weight, 0, torch::kFanOut, torch::kReLU);
    conv1 = register_module("conv1", first);
    bn1 = register_module("bn1", nn::BatchNorm2d(64));
    int in = 64;
    for (int stage = 0; stage < 4; ++stage) {
      nn::Sequential layer;
      for (int i = 0; i < blocks[stage]; ++i) {
        layer->push_back(Block({in, 64 << stage, i == 0 && stage > 0 ? 2 : 1}, bottleneck));
        in = (64 << stage) * (bottleneck ? 4 : 1);
      }
      layers.push_back(register_module("layer" + std::to_string(stage + 1), layer));
    }
    fc = register_module("fc", nn::Linear(in, 1000));
  }

  torch::Tensor forward(const torch::Tensor& input) override {
    auto x = torch::relu(bn1->forward(conv1->forward(input)));
    x = torch::max_pool2d(x, 3, 2, 1);
    for (auto& layer : layers) x = layer->forward(x);
    return fc->forward(x.mean({2, 3}));
  }

 private:
  nn::Conv2d conv1{nullptr};
  nn::BatchNorm2d bn1{nullptr};
  std::vector<nn::Sequential> layers;
  nn::Linear fc{nullptr};
};

}  // namespace

std::shared_ptr<Net> make_resnet(int depth) {
  if (depth != 18 && depth != 50)
    throw ConfigError(fmt::format("resnet{}: there are resnet18 and resnet50", depth));
  return std::make_shared<Resnet>(depth);
}

}  // namespace gradwire

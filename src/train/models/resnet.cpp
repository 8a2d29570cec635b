// Residual networks (He, Zhang, Ren, Sun 2015, table 1), with the stride of a bottleneck in its 3x3
// convolution and the names of layers as torchvision has them, so that its weights fit.
#include "base/error.h"
#include "train/models/net.h"
#include "train/sync_batch_norm.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

nn::Conv2d convolution(int in, int out, int kernel, int stride = 1) {
  nn::Conv2d made(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
  torch::nn::init::kaiming_normal_(made->weight, 0, torch::kFanOut, torch::kReLU);
  return made;
}

// Over this rank's batch or, with a communicator, over that of all its ranks. Both have the same tensors.
nn::AnyModule make_norm(int channels, Communicator* over) {
  if (over == nullptr) return nn::AnyModule(nn::BatchNorm2d(channels));
  return nn::AnyModule(SyncBatchNorm(*over, SyncBatchNormOptions(channels)));
}

struct Step {
  int in, width, stride;
  Communicator* norm_over;
};

// A shortcut where size or channels change.
nn::Sequential shortcut(const Step& step, int out) {
  nn::Sequential made;
  if (step.in == out && step.stride == 1) return made;
  made->push_back(convolution(step.in, out, 1, step.stride));
  made->push_back(make_norm(out, step.norm_over));
  return made;
}

// Two 3x3 convolutions (18 layers), or 1x1, 3x3, 1x1 with four times as many channels at the end (50 layers).
class Block : public nn::Module {
 public:
  Block(const Step& step, bool bottleneck)
      : expansion_(bottleneck ? 4 : 1),
        conv1(register_module("conv1", bottleneck ? convolution(step.in, step.width, 1)
                                                  : convolution(step.in, step.width, 3, step.stride))),
        bn1(add_norm("bn1", step.width, step)),
        conv2(register_module("conv2", convolution(step.width, step.width, 3, bottleneck ? step.stride : 1))),
        bn2(add_norm("bn2", step.width, step)) {
    const int out = step.width * expansion_;
    if (bottleneck) {
      conv3 = register_module("conv3", convolution(step.width, out, 1));
      bn3 = add_norm("bn3", out, step);
    }
    downsample = shortcut(step, out);
    if (!downsample->is_empty()) register_module("downsample", downsample);
  }

  torch::Tensor forward(const torch::Tensor& input) {
    auto x = bn2.forward(conv2->forward(torch::relu(bn1.forward(conv1->forward(input)))));
    if (expansion_ > 1) x = bn3.forward(conv3->forward(torch::relu(x)));
    return torch::relu(x + (downsample->is_empty() ? input : downsample->forward(input)));
  }

 private:
  nn::AnyModule add_norm(const char* name, int channels, const Step& step) {
    auto norm = make_norm(channels, step.norm_over);
    register_module(name, norm.ptr());
    return norm;
  }

  const int expansion_;
  nn::Conv2d conv1;
  nn::AnyModule bn1;
  nn::Conv2d conv2;
  nn::AnyModule bn2;
  nn::Conv2d conv3{nullptr};
  nn::AnyModule bn3;
  nn::Sequential downsample{nullptr};
};

class Resnet : public Net {
 public:
  explicit Resnet(const ResnetShape& shape) {
    const bool bottleneck = shape.depth == 50;
    const int blocks[] = {bottleneck ? 3 : 2, bottleneck ? 4 : 2, bottleneck ? 6 : 2, bottleneck ? 3 : 2};
    nn::Conv2d first(nn::Conv2dOptions(3, shape.width, 7).stride(2).padding(3).bias(false));
    torch::nn::init::kaiming_normal_(first->weight, 0, torch::kFanOut, torch::kReLU);
    conv1 = register_module("conv1", first);
    bn1 = make_norm(shape.width, shape.norm_over);
    register_module("bn1", bn1.ptr());
    int in = shape.width;
    for (int stage = 0; stage < 4; ++stage) {
      nn::Sequential layer;
      for (int i = 0; i < blocks[stage]; ++i) {
        const int width = shape.width << stage, stride = i == 0 && stage > 0 ? 2 : 1;
        layer->push_back(Block({in, width, stride, shape.norm_over}, bottleneck));
        in = width * (bottleneck ? 4 : 1);
      }
      layers.push_back(register_module("layer" + std::to_string(stage + 1), layer));
    }
    fc = register_module("fc", nn::Linear(in, shape.classes));
  }

  std::vector<Piece> pieces() override {
    std::vector<Piece> all{{"conv1",
                            {{"conv1", conv1.ptr()}, {"bn1", bn1.ptr()}},
                            [conv1 = conv1, bn1 = bn1](const torch::Tensor& input) mutable {
                              const torch::Tensor x = torch::relu(bn1.forward(conv1->forward(input)));
                              return torch::max_pool2d(x, 3, 2, 1);
                            }}};
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::string name = "layer" + std::to_string(i + 1);
      all.push_back(
          {name, {{name, layers[i].ptr()}}, [layer = layers[i]](const torch::Tensor& input) mutable {
             return layer->forward(input);
           }});
    }
    all.push_back({"fc", {{"fc", fc.ptr()}}, [fc = fc](const torch::Tensor& input) mutable {
                     return fc->forward(input.mean({2, 3}));
                   }});
    return all;
  }

 private:
  nn::Conv2d conv1{nullptr};
  nn::AnyModule bn1;
  std::vector<nn::Sequential> layers;
  nn::Linear fc{nullptr};
};

}  // namespace

std::shared_ptr<Net> make_resnet(const ResnetShape& shape) {
  if (shape.depth != 18 && shape.depth != 50)
    throw ConfigError(fmt::format("resnet{}: there are resnet18 and resnet50", shape.depth));
  return std::make_shared<Resnet>(shape);
}

}  // namespace gradwire

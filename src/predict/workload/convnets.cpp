#include <array>

#include "predict/workload/builders.h"

// Plain convolutional networks: AlexNet and VGG-16 as torchvision builds them, SSD300, the digits example.
namespace gradwire {
namespace {

Window biased(int size, int stride = 1, int pad = 0) {
  auto window = square(size, stride, pad);
  window.bias = true;
  return window;
}

}  // namespace

std::vector<Layer> alexnet() {
  Graph graph;
  auto out = graph.conv("conv1", ImageShape{3, 224, 224}, 64, biased(11, 4, 2));
  out = graph.pool("pool1", out, square(3, 2));
  out = graph.conv("conv2", out, 192, biased(5, 1, 2));
  out = graph.pool("pool2", out, square(3, 2));
  out = graph.conv("conv3", out, 384, biased(3, 1, 1));
  out = graph.conv("conv4", out, 256, biased(3, 1, 1));
  out = graph.conv("conv5", out, 256, biased(3, 1, 1));
  graph.pool("pool5", out, square(3, 2));
  graph.linear("fc6", 256 * 6 * 6, 4096);
  graph.linear("fc7", 4096, 4096);
  graph.linear("fc8", 4096, 1000);
  return graph.layers;
}

std::vector<Layer> vgg16() {
  Graph graph;
  ImageShape out{3, 224, 224};
  constexpr std::array<int, 5> channels = {64, 128, 256, 512, 512}, repeats = {2, 2, 3, 3, 3};
  for (std::size_t block = 0; block < channels.size(); ++block) {
    const auto name = "block" + std::to_string(block + 1);
    for (int i = 0; i < repeats[block]; ++i)
      out = graph.conv(name + ".conv" + std::to_string(i + 1), out, channels[block], biased(3, 1, 1));
    out = graph.pool(name + ".pool", out, square(2, 2));
  }
  graph.linear("fc1", 512 * 7 * 7, 4096);
  graph.linear("fc2", 4096, 4096);
  graph.linear("fc3", 4096, 1000);
  return graph.layers;
}

// The backbone ends after the third stage, which keeps its resolution of 38 x 38; five extra blocks; a
// location and a class head on each of six maps, 81 classes.
std::vector<Layer> ssd300() {
  Graph graph;
  const ResNetSpec spec;
  auto out = resnet_stem(graph, ImageShape{3, 300, 300});
  for (int stage = 0; stage < 3; ++stage) out = resnet_stage(graph, out, stage, stage == 1 ? 2 : 1, spec);
  std::vector<ImageShape> maps{out};
  constexpr std::array<int, 5> middle = {256, 256, 128, 128, 128}, last = {512, 512, 256, 256, 256};
  for (std::size_t i = 0; i < middle.size(); ++i) {
    const auto name = "extra" + std::to_string(i + 1);
    out = graph.conv_norm(name + ".1", out, middle[i], square(1));
    out = graph.conv_norm(name + ".2", out, last[i], i < 3 ? square(3, 2, 1) : square(3));
    maps.push_back(out);
  }
  constexpr std::array<int, 6> boxes = {4, 6, 6, 6, 4, 4};
  for (const int values : {4, 81})
    for (std::size_t i = 0; i < maps.size(); ++i)
      graph.conv((values == 4 ? "loc" : "conf") + std::to_string(i), maps[i], boxes[i] * values,
                 biased(3, 1, 1));
  return graph.layers;
}

std::vector<Layer> convnet() {
  Graph graph;
  auto out = graph.conv("conv1", ImageShape{1, 28, 28}, 32, biased(3));
  out = graph.conv("conv2", out, 64, biased(3));
  out = graph.pool("pool", out, square(2, 2));
  graph.linear("fc1", static_cast<int>(out.elements()), 128);
  graph.linear("fc2", 128, 10);
  return graph.layers;
}

std::vector<Layer> mlp() {
  constexpr std::array kWidths = {1024, 2304, 2304, 1024};
  Graph graph;
  for (std::size_t i = 0; i + 1 < kWidths.size(); ++i)
    graph.linear("fc" + std::to_string(i + 1), kWidths[i], kWidths[i + 1]);
  return graph.layers;
}

}  // namespace gradwire

#include <fmt/format.h>

#include "predict/workload/builders.h"

// Residual networks as torchvision builds them (He et al. 2015; Xie et al. 2016 for groups; Hu et al. 2017
// for squeeze and excitation): a stem, four stages, one fully connected layer.
namespace gradwire {
namespace {

// Two gates on the channels: C to C/16 and back.
void squeeze(Graph& graph, const std::string& name, ImageShape shape) {
  graph.pool(name + ".squeeze", shape, square(shape.height));
  graph.linear(name + ".se.fc1", shape.channels, shape.channels / 16);
  graph.linear(name + ".se.fc2", shape.channels / 16, shape.channels);
  graph.elementwise(name + ".se.scale", shape.elements());
}

ImageShape shortcut(Graph& graph, const std::string& name, ImageShape in, ImageShape out, int stride) {
  graph.elementwise(name + ".add", out.elements());
  if (stride == 1 && in.channels == out.channels) return out;
  return graph.conv_norm(name + ".downsample", in, out.channels, square(1, stride));
}

ImageShape bottleneck(Graph& graph, const std::string& name, ImageShape in, int planes, int stride,
                      const ResNetSpec& spec) {
  const int width = planes * spec.width_per_group / 64 * spec.groups;
  auto middle = square(3, stride, 1);
  middle.groups = spec.groups;
  auto out = graph.conv_norm(name + ".1", in, width, square(1));
  out = graph.conv_norm(name + ".2", out, width, middle);
  out = graph.conv_norm(name + ".3", out, planes * 4, square(1));
  if (spec.squeeze) squeeze(graph, name, out);
  return shortcut(graph, name, in, out, stride);
}

ImageShape basic(Graph& graph, const std::string& name, ImageShape in, int planes, int stride) {
  auto out = graph.conv_norm(name + ".1", in, planes, square(3, stride, 1));
  out = graph.conv_norm(name + ".2", out, planes, square(3, 1, 1));
  return shortcut(graph, name, in, out, stride);
}

}  // namespace

ImageShape resnet_stem(Graph& graph, ImageShape image) {
  const auto out = graph.conv_norm("stem", image, 64, square(7, 2, 3));
  return graph.pool("maxpool", out, square(3, 2, 1));
}

ImageShape resnet_stage(Graph& graph, ImageShape in, int stage, int stride, const ResNetSpec& spec) {
  const int planes = 64 << stage;
  auto out = in;
  for (int block = 0; block < spec.blocks[static_cast<std::size_t>(stage)]; ++block) {
    const auto name = fmt::format("layer{}.{}", stage + 1, block);
    out = spec.bottleneck ? bottleneck(graph, name, out, planes, block ? 1 : stride, spec)
                          : basic(graph, name, out, planes, block ? 1 : stride);
  }
  return out;
}

std::vector<Layer> resnet(const ResNetSpec& spec) {
  Graph graph;
  auto out = resnet_stem(graph, ImageShape{3, 224, 224});
  for (int stage = 0; stage < 4; ++stage) out = resnet_stage(graph, out, stage, stage ? 2 : 1, spec);
  graph.pool("avgpool", out, square(out.height));
  graph.linear("fc", out.channels, 1000);
  return graph.layers;
}

}  // namespace gradwire

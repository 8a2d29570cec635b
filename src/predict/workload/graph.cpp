#include "predict/workload/graph.h"

#include <algorithm>

namespace gradwire {
namespace {

using Tensors = std::vector<std::uint64_t>;

std::uint64_t product(double a, double b, double c = 1, double d = 1) {
  return static_cast<std::uint64_t>(a * b * c * d);
}

ImageShape behind(const ImageShape& in, int channels, const Window& window) {
  return {channels, (in.height + 2 * window.pad_height - window.height) / window.stride + 1,
          (in.width + 2 * window.pad_width - window.width) / window.stride + 1};
}

}  // namespace

ImageShape Graph::conv(const std::string& name, ImageShape in, int out, Window window) {
  const auto shape = behind(in, out, window);
  const int of_a_group = in.channels / window.groups;
  const auto weights = product(out, of_a_group, window.height, window.width);
  Tensors tensors{weights};
  if (window.bias) tensors.push_back(static_cast<std::uint64_t>(out));
  layers.push_back({name, LayerKind::convolution, 2.0 * double(weights) * shape.height * shape.width,
                    in.elements() + shape.elements(), tensors});
  return shape;
}

ImageShape Graph::norm(const std::string& name, ImageShape shape) {
  const auto channels = static_cast<std::uint64_t>(shape.channels);
  // Read for the statistics, read and written to normalise and rectify.
  layers.push_back({name, LayerKind::normalization, 4 * shape.elements(), 3 * shape.elements(),
                    Tensors{channels, channels}});
  return shape;
}

ImageShape Graph::conv_norm(const std::string& name, ImageShape in, int out, Window window) {
  return norm(name + ".bn", conv(name + ".conv", in, out, window));
}

ImageShape Graph::pool(const std::string& name, ImageShape in, Window window) {
  const auto shape = behind(in, in.channels, window);
  layers.push_back({name,
                    LayerKind::elementwise,
                    shape.elements() * window.height * window.width,
                    in.elements() + shape.elements(),
                    {}});
  return shape;
}

void Graph::linear(const std::string& name, int in, int out, double rows, bool bias) {
  Tensors tensors{product(in, out)};
  if (bias) tensors.push_back(static_cast<std::uint64_t>(out));
  layers.push_back({name, LayerKind::matmul, 2.0 * in * out * rows, rows * (in + out), tensors});
}

void Graph::layer_norm(const std::string& name, int width, double rows, int parameters) {
  layers.push_back({name, LayerKind::normalization, 6.0 * width * rows, 3.0 * width * rows,
                    Tensors(static_cast<std::size_t>(parameters), static_cast<std::uint64_t>(width))});
}

void Graph::embedding(const std::string& name, int entries, int width, double looked_up) {
  layers.push_back({name, LayerKind::embedding, width * looked_up, 2.0 * width * looked_up,
                    Tensors{product(entries, width)}});
}

// Scores, softmax, product with the values. A causal mask halves the work where kernels use it; most do not.
void Graph::attention(const std::string& name, int width, double queries, double keys, bool causal) {
  const double share = causal ? 0.5 : 1;
  layers.push_back({name,
                    LayerKind::attention,
                    4.0 * width * queries * keys * share,
                    4.0 * width * queries + 3.0 * queries * keys * std::max(1, width / 64),
                    {}});
}

void Graph::lstm(const std::string& name, int in, int hidden, double steps) {
  const auto gates = static_cast<std::uint64_t>(4 * hidden);
  const Tensors tensors{product(4.0 * hidden, in), product(4.0 * hidden, hidden), gates, gates};
  layers.push_back({name, LayerKind::recurrent, 8.0 * hidden * (in + hidden) * steps,
                    steps * (in + 12.0 * hidden), tensors});
}

void Graph::elementwise(const std::string& name, double elements) {
  layers.push_back({name, LayerKind::elementwise, elements, 2 * elements, {}});
}

}  // namespace gradwire

// Layers put down one after another, counting parameters, work and activations from shapes. Each function
// appends what a framework's module of that name registers, in that order, and returns the shape behind it.
#pragma once

#include <string>
#include <vector>

#include "predict/workload/workload.h"

namespace gradwire {

struct ImageShape {
  int channels = 3, height = 224, width = 224;
  double elements() const { return double(channels) * height * width; }
};

struct Window {
  int height = 1, width = 1, stride = 1, pad_height = 0, pad_width = 0, groups = 1;
  bool bias = false;
};

inline Window square(int size, int stride = 1, int pad = 0) { return {size, size, stride, pad, pad}; }

class Graph {
 public:
  std::vector<Layer> layers;

  ImageShape conv(const std::string& name, ImageShape, int out, Window);
  ImageShape norm(const std::string& name,
                  ImageShape);  // batch normalisation: scale and shift of each channel
  ImageShape conv_norm(const std::string& name, ImageShape, int out, Window);
  ImageShape pool(const std::string& name, ImageShape, Window);
  void linear(const std::string& name, int in, int out, double rows = 1, bool bias = true);
  // `parameters` tensors of `width` each: 2 of layer normalisation, 1 of RMS normalisation.
  void layer_norm(const std::string& name, int width, double rows, int parameters = 2);
  void embedding(const std::string& name, int entries, int width, double looked_up);
  void attention(const std::string& name, int width, double queries, double keys, bool causal = false);
  void lstm(const std::string& name, int in, int hidden, double steps);
  void elementwise(const std::string& name, double elements);
};

}  // namespace gradwire

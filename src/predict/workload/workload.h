// A model to train as the predictor sees it: its layers in forward order, what each computes for one sample,
// and the parameter tensors it registers. A value; built by the functions of catalog.h, from a user's YAML,
// or from a parameter count alone. Gradients become ready from the last layer to the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace gradwire {

enum class LayerKind : std::uint8_t {
  convolution,
  matmul,
  attention,  // scores and their product with the values
  recurrent,  // one step after another: small matrix products
  embedding,  // table look-up
  normalization,
  elementwise
};

// What a model is judged with: validate sums errors up by family.
enum class Family : std::uint8_t { cnn, transformer, other };

struct Layer {
  std::string name;
  LayerKind kind = LayerKind::elementwise;
  double flops = 0;                    // forward, one sample; backward takes twice that
  double elements = 0;                 // activations read and written forward, one sample
  std::vector<std::uint64_t> tensors;  // elements of each parameter tensor, in the order of registration
  bool operator==(const Layer&) const = default;
};

struct Workload {
  std::string name;   // "resnet50"
  std::string title;  // "ResNet-50, 224 x 224"
  Family family = Family::cnn;
  std::string sample = "image";  // what a sample is: "image", "sequence"
  int sequence = 0;              // tokens of a sample; 0: it has none
  int batch = 32;                // per GPU, when nobody says
  std::string optimizer = "sgd";
  std::vector<Layer> layers;
  std::string source;     // of the architecture or its parameter count
  bool stand_in = false;  // its layers are another model's, scaled
  bool operator==(const Workload&) const = default;
};

std::uint64_t parameter_count(const Workload&);
int tensor_count(const Workload&);
double forward_flops(const Workload&);  // of one sample

std::string_view to_string(LayerKind);
std::string_view to_string(Family);
std::optional<Family> find_family(std::string_view text);
LayerKind parse_layer_kind(std::string_view text);  // throws ConfigError listing the kinds

// Throws ConfigError naming the layer when a number can't be: negative, not finite, beyond 10^15, or when
// there is nothing to train.
void check_workload(const Workload&);

}  // namespace gradwire

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "predict/workload/builders.h"

// The layers of each built-in model: from its sizes, or by a function of its own.
namespace gradwire {
namespace {

using Layers = std::vector<Layer>;

const std::map<std::string_view, std::function<Layers(int sequence)>> kWithoutSizes = {
    {"vgg16", [](int) { return vgg16(); }},
    {"alexnet", [](int) { return alexnet(); }},
    {"inception3", [](int) { return inception3(); }},
    {"inception4", [](int) { return inception4(); }},
    {"ssd", [](int) { return ssd300(); }},
    {"convnet", [](int) { return convnet(); }},
    {"mlp", [](int) { return mlp(); }},
    {"bart-large", bart_large},
    {"gnmt", gnmt}};

int size_in(const YamlMap& sizes, std::string_view key, int otherwise) {
  return sizes.find_integer(key, {0, 1 << 24}).value_or(otherwise);
}

ResNetSpec resnet_spec(const YamlMap& sizes) {
  ResNetSpec spec;
  const auto blocks = sizes.integers("blocks", {1, 1000});
  check(blocks.size() == spec.blocks.size(), "a residual network has four stages");
  std::copy(blocks.begin(), blocks.end(), spec.blocks.begin());
  spec.bottleneck = sizes.find_flag("bottleneck").value_or(true);
  spec.groups = size_in(sizes, "groups", spec.groups);
  spec.width_per_group = size_in(sizes, "width_per_group", spec.width_per_group);
  spec.squeeze = sizes.find_flag("squeeze").value_or(false);
  return spec;
}

TransformerXlSpec transformer_xl_spec(const YamlMap& sizes, int sequence) {
  return {
      size_in(sizes, "layers", 0), size_in(sizes, "width", 0), size_in(sizes, "inner", 0), sequence, sequence,
      size_in(sizes, "divide", 1)};
}

Layers layers_of(const TransformerSizes& sizes, int sequence) {
  if (sizes.mlp_matrices == 3) return llama(sizes, sequence);
  if (!sizes.causal) return bert({sizes.layers, sizes.hidden, sequence});
  return gpt(sizes, sequence);
}

}  // namespace

std::vector<Layer> build_layers(std::string_view name, int sequence) {
  if (const auto sizes = find_transformer(name)) return layers_of(*sizes, sequence);
  if (const auto sizes = find_model_sizes(name, "resnet")) return resnet(resnet_spec(*sizes));
  if (const auto sizes = find_model_sizes(name, "vit"))
    return vit({size_in(*sizes, "layers", 0), size_in(*sizes, "width", 0), size_in(*sizes, "inner", 0)});
  if (const auto sizes = find_model_sizes(name, "bert"))
    return bert({size_in(*sizes, "layers", 0), size_in(*sizes, "width", 0), sequence,
                 sizes->find_flag("heads").value_or(false)});
  if (const auto sizes = find_model_sizes(name, "transformer_xl"))
    return transformer_xl(transformer_xl_spec(*sizes, sequence));
  const auto found = kWithoutSizes.find(name);
  if (found == kWithoutSizes.end())
    throw Error(fmt::format("bug in gradwire: model '{}' is listed and has no builder", name));
  return found->second(sequence);
}

}  // namespace gradwire

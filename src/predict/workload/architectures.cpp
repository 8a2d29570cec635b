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

int needed(const YamlMap& map, std::string_view key, Range range) {
  const auto found = map.find_integer(key, range);
  return found ? *found : static_cast<int>(map.number(key, range));  // which says that it is missing
}

// Wide enough for any model and narrow enough for products of two.
constexpr Range kWidth = {1, 1 << 20}, kInner = {1, 1 << 24}, kHeads = {1, 1 << 14};
constexpr Range kLayers = {1, 2000}, kExperts = {1, 512};

void read_experts(const YamlMap& map, TransformerSizes& sizes) {
  sizes.experts = map.find_integer("experts", kExperts).value_or(0);
  if (!sizes.moe()) return;
  if (sizes.mlp_matrices != 3) map.fail("experts", "left out, or 'mlp_matrices: 3' beside them");
  sizes.experts_per_token = needed(map, "experts_per_token", {1, double(sizes.experts)});
  sizes.expert_ffn = sizes.ffn;
}

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
  if (sizes.mlp_matrices == 2 && !sizes.causal) return bert({sizes.layers, sizes.hidden, sequence});
  return transformer_layers(sizes, sequence);
}

}  // namespace

std::vector<Layer> transformer_layers(const TransformerSizes& sizes, int sequence) {
  return sizes.mlp_matrices == 3 ? llama(sizes, sequence) : gpt(sizes, sequence);
}

TransformerSizes read_sizes(const std::string& name, int sequence, const YamlMap& map) {
  map.only({"layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "mlp_matrices", "vocab", "positions",
            "tied", "causal", "head_norms", "experts", "experts_per_token"});
  const auto size = [&](std::string_view key, Range range, int otherwise) {
    return map.find_integer(key, range).value_or(otherwise);
  };
  TransformerSizes sizes;
  sizes.name = name;
  sizes.layers = needed(map, "layers", kLayers);
  sizes.hidden = needed(map, "hidden", kWidth);
  sizes.heads = needed(map, "heads", kHeads);
  sizes.kv_heads = size("kv_heads", {1, double(sizes.heads)}, sizes.heads);
  if (!map.has("head_dim") && sizes.hidden % sizes.heads != 0)
    map.fail("heads", "a divisor of 'hidden', or 'head_dim' beside it");
  sizes.head_dim = size("head_dim", kHeads, sizes.hidden / sizes.heads);
  sizes.ffn = size("ffn", kInner, 4 * sizes.hidden);
  sizes.mlp_matrices = size("mlp_matrices", {2, 3}, 2);
  sizes.vocab = needed(map, "vocab", kInner);
  sizes.sequence = sequence;
  sizes.positions = size("positions", kInner, 0);
  sizes.tied = map.find_flag("tied").value_or(true);
  sizes.causal = map.find_flag("causal").value_or(true);
  sizes.biases = sizes.mlp_matrices == 2;
  sizes.head_norms = map.find_flag("head_norms").value_or(false);
  read_experts(map, sizes);
  return sizes;
}

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

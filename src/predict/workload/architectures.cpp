// The layers of each built-in model: transformers that can be cut have theirs from their sizes, which stand in
// transformer_catalog.cpp; the others are here.
#include <fmt/format.h>

#include <map>
#include <variant>

#include "base/error.h"
#include "predict/workload/builders.h"
#include "predict/workload/transformer.h"

namespace gradwire {
namespace {

using Layers = std::vector<Layer>;
using Architecture =
    std::variant<ResNetSpec, VitSpec, BertSpec, TransformerXlSpec, Layers (*)(), Layers (*)(int sequence)>;

const std::map<std::string_view, Architecture>& architectures() {
  static const std::map<std::string_view, Architecture> all = {
      {"resnet18", ResNetSpec{{2, 2, 2, 2}, false}},
      {"resnet34", ResNetSpec{{3, 4, 6, 3}, false}},
      {"resnet50", ResNetSpec{{3, 4, 6, 3}}},
      {"resnet101", ResNetSpec{{3, 4, 23, 3}}},
      {"resnet152", ResNetSpec{{3, 8, 36, 3}}},
      {"resnext50-32x4d", ResNetSpec{{3, 4, 6, 3}, true, 32, 4}},
      {"resnext101-32x8d", ResNetSpec{{3, 4, 23, 3}, true, 32, 8}},
      {"resnext101-32x4d", ResNetSpec{{3, 4, 23, 3}, true, 32, 4}},
      {"se-resnext101-32x4d", ResNetSpec{{3, 4, 23, 3}, true, 32, 4, true}},
      {"vgg16", vgg16},
      {"alexnet", alexnet},
      {"inception3", inception3},
      {"inception4", inception4},
      {"ssd", ssd300},
      {"convnet", convnet},
      {"mlp", mlp},
      {"vit-b-16", VitSpec{}},
      {"vit-l-16", VitSpec{24, 1024, 4096}},
      {"electra-base", BertSpec{12, 768}},
      {"bert-large-pretraining", BertSpec{.layers = 24, .width = 1024, .heads = true}},
      {"bart-large", bart_large},
      {"transformer-xl-base", TransformerXlSpec{16, 512, 2048}},
      {"transformer-xl-large", TransformerXlSpec{.layers = 18, .width = 1024, .inner = 4096, .divide = 4}},
      {"gnmt", gnmt}};
  return all;
}

struct Build {
  int sequence;

  Layers operator()(const ResNetSpec& spec) const { return resnet(spec); }
  Layers operator()(const VitSpec& spec) const { return vit(spec); }
  Layers operator()(BertSpec spec) const {
    spec.sequence = sequence;
    return bert(spec);
  }
  Layers operator()(TransformerXlSpec spec) const {
    spec.sequence = spec.memory = sequence;
    return transformer_xl(spec);
  }
  Layers operator()(Layers (*make)()) const { return make(); }
  Layers operator()(Layers (*make)(int)) const { return make(sequence); }
};

Layers layers_of(const TransformerSizes& sizes, int sequence) {
  if (sizes.moe())
    return mixture({sizes.layers, sizes.hidden, sizes.expert_ffn, sizes.heads, sizes.kv_heads, sizes.head_dim,
                    sizes.vocab, sequence, sizes.experts, sizes.experts_per_token, sizes.head_norms});
  if (sizes.mlp_matrices == 3)
    return llama({sizes.layers, sizes.hidden, sizes.ffn, sizes.heads, sizes.kv_heads, sizes.vocab, sequence});
  if (!sizes.causal) return bert({sizes.layers, sizes.hidden, sequence});
  return gpt({sizes.layers, sizes.hidden, sequence, sizes.vocab, sizes.positions, sizes.tied});
}

}  // namespace

std::vector<Layer> build_layers(std::string_view name, int sequence) {
  for (const auto& sizes : known_transformers())
    if (sizes.name == name) return layers_of(sizes, sequence);
  const auto found = architectures().find(name);
  if (found == architectures().end())
    throw Error(fmt::format("bug in gradwire: model '{}' is listed and has no builder", name));
  return std::visit(Build{sequence}, found->second);
}

}  // namespace gradwire

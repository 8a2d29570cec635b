// The architectures that are built in, each a pure function from its sizes to layers; and the layers of the models of
// presets/models.yaml, which has those sizes.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "predict/workload/graph.h"
#include "predict/workload/transformer.h"
#include "topo/yaml.h"

namespace gradwire {

struct ResNetSpec {
  std::array<int, 4> blocks = {3, 4, 6, 3};
  bool bottleneck = true;
  int groups = 1, width_per_group = 64;
  bool squeeze = false;
};
std::vector<Layer> resnet(const ResNetSpec&);
ImageShape resnet_stem(Graph&, ImageShape image);
ImageShape resnet_stage(Graph&, ImageShape, int stage, int stride, const ResNetSpec&);

std::vector<Layer> alexnet();
std::vector<Layer> vgg16();
std::vector<Layer> inception3();
std::vector<Layer> inception4();
std::vector<Layer> ssd300();   // on ResNet-50, as NVIDIA's DeepLearningExamples
std::vector<Layer> convnet();  // for 28 x 28 digits
std::vector<Layer> mlp();      // 1024-2304-2304-1024

struct BertSpec {
  int layers = 12, width = 768, sequence = 128;
  bool heads = false;  // with the heads of pre-training
};
std::vector<Layer> bert(const BertSpec&);

std::vector<Layer> gpt(const TransformerSizes&, int sequence);
std::vector<Layer> llama(const TransformerSizes&, int sequence);  // also with a mixture of experts

struct VitSpec {
  int layers = 12, width = 768, inner = 3072, patch = 16, image = 224;
};
std::vector<Layer> vit(const VitSpec&);

struct TransformerXlSpec {
  int layers = 16, width = 512, inner = 2048, sequence = 192, memory = 192;
  int divide = 1;  // embedding width of rarer words: width / divide^cluster
};
std::vector<Layer> transformer_xl(const TransformerXlSpec&);

std::vector<Layer> bart_large(int sequence);
std::vector<Layer> gnmt(int sequence);

// Of any decoder or encoder by its sizes, as gpt() or llama() builds it.
std::vector<Layer> transformer_layers(const TransformerSizes&, int sequence);

// As presets/models.yaml states them under `transformer`, and a user's file of a model. Throws ConfigError.
TransformerSizes read_sizes(const std::string& name, int sequence, const YamlMap& sizes);

// Of a model that all_models() lists.
std::vector<Layer> build_layers(std::string_view name, int sequence);

// Its sizes of that kind, "resnet" or "transformer"; absent where it has none.
std::optional<YamlMap> find_model_sizes(std::string_view name, std::string_view kind);

}  // namespace gradwire

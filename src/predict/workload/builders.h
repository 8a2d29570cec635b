// The architectures that are built in, each a pure function from its sizes to layers; and the layers of the models of the
// catalog.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "predict/workload/graph.h"

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

struct GptSpec {
  int layers = 12, width = 768, sequence = 1024, vocabulary = 50257, positions = 1024;
  bool tied = true;  // the output layer is the embedding
};
std::vector<Layer> gpt(const GptSpec&);

struct LlamaSpec {
  int layers = 32, width = 4096, inner = 11008, heads = 32, kv_heads = 32, vocabulary = 32000,
      sequence = 2048;
};
std::vector<Layer> llama(const LlamaSpec&);

struct MixtureSpec {
  int layers = 32, width = 4096, inner = 14336;  // inner: of one expert
  int heads = 32, kv_heads = 8, head_dim = 128, vocabulary = 32000, sequence = 4096;
  int experts = 8, experts_per_token = 2;
  bool head_norms = false;  // of queries and keys
};
std::vector<Layer> mixture(const MixtureSpec&);

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

// Of a model that all_models() lists.
std::vector<Layer> build_layers(std::string_view name, int sequence);

}  // namespace gradwire

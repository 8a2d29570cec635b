#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "predict/workload/catalog.h"
#include "predict/workload/transformer.h"

// Sizes of the built-in transformers, as their papers state them; catalog.cpp holds their sources and counts.
namespace gradwire {
namespace {

TransformerSizes gpt_shape(const char* name, int layers, int hidden, int heads, int positions = 1024) {
  TransformerSizes shape;
  shape.name = name;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = shape.kv_heads = heads;
  shape.head_dim = hidden / heads;
  shape.ffn = 4 * hidden;
  shape.positions = shape.sequence = positions;
  return shape;
}

TransformerSizes bert_shape(const char* name, int layers, int hidden, int heads, int sequence) {
  auto shape = gpt_shape(name, layers, hidden, heads, 512);
  shape.vocab = 30522;
  shape.sequence = sequence;
  shape.causal = false;
  return shape;
}

struct LlamaSizes {
  int layers, hidden, ffn, heads, kv_heads, vocab, sequence;
};

TransformerSizes llama_shape(const char* name, const LlamaSizes& sizes) {
  TransformerSizes shape;
  shape.name = name;
  shape.layers = sizes.layers;
  shape.hidden = sizes.hidden;
  shape.ffn = sizes.ffn;
  shape.heads = sizes.heads;
  shape.kv_heads = sizes.kv_heads;
  shape.head_dim = sizes.hidden / sizes.heads;
  shape.vocab = sizes.vocab;
  shape.sequence = sizes.sequence;
  shape.mlp_matrices = 3;
  shape.tied = shape.biases = false;
  return shape;
}

TransformerSizes mixture_shape(TransformerSizes shape, int experts, int experts_per_token) {
  shape.experts = experts;
  shape.experts_per_token = experts_per_token;
  shape.expert_ffn = shape.ffn;
  return shape;
}

std::vector<TransformerSizes> make_transformers() {
  auto tiny = gpt_shape("gpt-tiny", 4, 256, 8, 128);
  tiny.vocab = 1024;
  tiny.tied = false;
  auto qwen = mixture_shape(llama_shape("qwen3-235b-a22b", {94, 4096, 1536, 64, 4, 151936, 4096}), 128, 8);
  qwen.head_dim = 128;
  qwen.head_norms = true;
  return {tiny,
          gpt_shape("gpt2", 12, 768, 12),
          gpt_shape("gpt2-medium", 24, 1024, 16),
          gpt_shape("gpt2-large", 36, 1280, 20),
          gpt_shape("gpt2-xl", 48, 1600, 25),
          gpt_shape("gpt3-1.3b", 24, 2048, 16, 2048),
          gpt_shape("gpt3-6.7b", 32, 4096, 32, 2048),
          gpt_shape("gpt3-13b", 40, 5120, 40, 2048),
          gpt_shape("gpt3-175b", 96, 12288, 96, 2048),
          bert_shape("bert-base", 12, 768, 12, 128),
          bert_shape("bert-large", 24, 1024, 16, 384),
          llama_shape("tinyllama-1.1b", {22, 2048, 5632, 32, 4, 32000, 2048}),
          llama_shape("mistral-7b", {32, 4096, 14336, 32, 8, 32000, 4096}),
          llama_shape("llama-7b", {32, 4096, 11008, 32, 32, 32000, 2048}),
          llama_shape("llama-8b", {32, 4096, 14336, 32, 8, 128256, 2048}),
          llama_shape("llama-13b", {40, 5120, 13824, 40, 40, 32000, 2048}),
          llama_shape("llama-70b", {80, 8192, 28672, 64, 8, 128256, 2048}),
          llama_shape("llama2-70b", {80, 8192, 28672, 64, 8, 32000, 4096}),
          llama_shape("llama-405b", {126, 16384, 53248, 128, 8, 128256, 8192}),
          mixture_shape(llama_shape("mixtral-8x7b", {32, 4096, 14336, 32, 8, 32000, 4096}), 8, 2),
          mixture_shape(llama_shape("mixtral-8x22b", {56, 6144, 16384, 48, 8, 32000, 4096}), 8, 2),
          qwen};
}

}  // namespace

const std::vector<TransformerSizes>& known_transformers() {
  static const auto all = make_transformers();
  return all;
}

TransformerSizes transformer_sizes(std::string_view name, std::optional<int> sequence) {
  for (auto shape : known_transformers()) {
    if (shape.name != name) continue;
    load_model(name, sequence);  // says what is wrong with a sequence
    if (sequence) shape.sequence = *sequence;
    return shape;
  }
  if (name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json"))
    throw ConfigError(fmt::format(
        "{:.60}: a file does not say how its model can be cut; name a transformer of gradwire list models",
        name));
  const auto known = find_model(name);
  if (!known) build_model(name);  // says which names are near
  throw ConfigError(
      fmt::format("{} can't be cut: only transformers of known sizes are split over GPUs; gradwire compare "
                  "prices it with data parallelism",
                  name));
}

}  // namespace gradwire

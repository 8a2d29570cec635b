#include <fmt/format.h>

#include <array>

#include "predict/workload/builders.h"

// Transformer-XL and GNMT as NVIDIA's DeepLearningExamples train them.
namespace gradwire {
namespace {

// WikiText-103: 267,735 words in four clusters, the frequent ones with the wide embedding.
constexpr std::array<int, 4> kClusters = {19997, 20000, 160000, 67735};

void adaptive_embedding(Graph& graph, const TransformerXlSpec& spec) {
  if (spec.divide == 1) {
    graph.embedding("word_emb", 267735, spec.width, spec.sequence);
    return;
  }
  int width = spec.width;
  for (std::size_t i = 0; i < kClusters.size(); ++i, width /= spec.divide) {
    graph.embedding(fmt::format("word_emb.{}", i), kClusters[i], width, spec.sequence / 4.0);
    graph.linear(fmt::format("emb_proj.{}", i), width, spec.width, spec.sequence / 4.0, false);
  }
}

// Most words are of the first cluster; the tail is looked at for the few others.
void adaptive_softmax(Graph& graph, const TransformerXlSpec& spec) {
  if (spec.divide != 1) graph.linear("crit.proj", spec.width, spec.width, spec.sequence, false);
  graph.linear("crit (tied)", spec.width, 2 * kClusters[0], spec.sequence, false);
  graph.layers.back().tensors = {267735};
}

}  // namespace

std::vector<Layer> transformer_xl(const TransformerXlSpec& spec) {
  Graph graph;
  const double tokens = spec.sequence, seen = spec.sequence + spec.memory;
  adaptive_embedding(graph, spec);
  graph.embedding("r_w_bias", 1, spec.width, 1);
  graph.embedding("r_r_bias", 1, spec.width, 1);
  for (int i = 0; i < spec.layers; ++i) {
    const auto name = fmt::format("layers.{}", i);
    graph.linear(name + ".qkv_net", spec.width, 3 * spec.width, seen, false);
    graph.linear(name + ".r_net", spec.width, spec.width, seen, false);
    graph.attention(name + ".scores", spec.width, tokens, 1.5 * seen);  // content, position, values
    graph.linear(name + ".o_net", spec.width, spec.width, tokens, false);
    graph.layer_norm(name + ".norm1", spec.width, tokens);
    graph.linear(name + ".ff1", spec.width, spec.inner, tokens);
    graph.linear(name + ".ff2", spec.inner, spec.width, tokens);
    graph.layer_norm(name + ".norm2", spec.width, tokens);
  }
  adaptive_softmax(graph, spec);
  return graph.layers;
}

std::vector<Layer> gnmt(int sequence) {
  constexpr int kHidden = 1024, kVocabulary = 31800;
  Graph graph;
  const double tokens = sequence;
  graph.embedding("embedder", kVocabulary, kHidden, 2 * tokens);
  graph.lstm("encoder.0", kHidden, kHidden, tokens);
  graph.lstm("encoder.0.reverse", kHidden, kHidden, tokens);
  graph.lstm("encoder.1", 2 * kHidden, kHidden, tokens);
  for (int i = 2; i < 4; ++i) graph.lstm(fmt::format("encoder.{}", i), kHidden, kHidden, tokens);
  graph.lstm("decoder.att_rnn", kHidden, kHidden, tokens);
  graph.linear("decoder.attn.q", kHidden, kHidden, tokens, false);
  graph.linear("decoder.attn.k", kHidden, kHidden, tokens, false);
  graph.attention("decoder.attn.scores", kHidden, tokens, tokens);
  graph.layers.back().tensors = {kHidden, 1, kHidden};
  for (int i = 1; i < 4; ++i) graph.lstm(fmt::format("decoder.{}", i), 2 * kHidden, kHidden, tokens);
  graph.linear("classifier", kHidden, kVocabulary, tokens);
  return graph.layers;
}

}  // namespace gradwire

#include <fmt/format.h>

#include <array>

#include "predict/workload/builders.h"

// Transformers: BERT, GPT-2, BART and ViT as Hugging Face and torchvision build them, Llama, Transformer-XL
// as NVIDIA's DeepLearningExamples. An embedding that is also the output layer is registered once, with the
// embedding: its gradient is whole only at the very end of backward.
namespace gradwire {
namespace {

void self_attention(Graph& graph, const std::string& name, int width, double tokens) {
  for (const auto* part : {".q", ".k", ".v"}) graph.linear(name + part, width, width, tokens);
  graph.attention(name + ".scores", width, tokens, tokens);
  graph.linear(name + ".out", width, width, tokens);
}

void feed_forward(Graph& graph, const std::string& name, int width, int inner, double tokens) {
  graph.linear(name + ".up", width, inner, tokens);
  graph.elementwise(name + ".gelu", inner * tokens);
  graph.linear(name + ".down", inner, width, tokens);
}

// The output layer that shares the embedding's weights: work, and no tensor of its own.
void tied_output(Graph& graph, int width, int vocabulary, double tokens) {
  graph.linear("lm_head (tied)", width, vocabulary, tokens, false);
  graph.layers.back().tensors.clear();
  graph.elementwise("softmax", vocabulary * tokens);
}

void bert_heads(Graph& graph, const BertSpec& spec) {
  constexpr int kVocabulary = 30522;
  const double predicted = 0.15 * spec.sequence;  // masked words alone
  graph.linear("pooler", spec.width, spec.width);
  if (!spec.heads) return;
  graph.linear("cls.transform", spec.width, spec.width, predicted);
  graph.layer_norm("cls.norm", spec.width, predicted);
  tied_output(graph, spec.width, kVocabulary, predicted);
  graph.layers.back().tensors = {kVocabulary};  // the bias is its own
  graph.linear("cls.next_sentence", spec.width, 2);
}

// A feed-forward part of three matrices, as Llama's.
void gated(Graph& graph, const std::string& name, std::pair<int, int> width_and_inner, double rows,
           std::string_view suffix = "") {
  const auto [width, inner] = width_and_inner;
  graph.linear(fmt::format("{}.gate{}", name, suffix), width, inner, rows, false);
  graph.linear(fmt::format("{}.up{}", name, suffix), width, inner, rows, false);
  graph.linear(fmt::format("{}.down{}", name, suffix), inner, width, rows, false);
}

// A mixture of experts: every expert's weights are there, and a token passes a few of them (Jiang et al. 2024,
// arXiv:2401.04088). One matrix product for each expert, together as many rows as tokens take experts.
void experts(Graph& graph, const std::string& name, const TransformerSizes& sizes, double tokens) {
  graph.linear(name + ".router", sizes.hidden, sizes.experts, tokens, false);
  const double rows = tokens * sizes.experts_per_token / sizes.experts;
  for (int i = 0; i < sizes.experts; ++i)
    gated(graph, fmt::format("{}.experts.{}", name, i), {sizes.hidden, sizes.expert_ffn}, rows);
}

}  // namespace

std::vector<Layer> bert(const BertSpec& spec) {
  Graph graph;
  const double tokens = spec.sequence;
  graph.embedding("embeddings.word", 30522, spec.width, tokens);
  graph.embedding("embeddings.position", 512, spec.width, tokens);
  graph.embedding("embeddings.type", 2, spec.width, tokens);
  graph.layer_norm("embeddings.norm", spec.width, tokens);
  for (int i = 0; i < spec.layers; ++i) {
    const auto name = fmt::format("layer.{}", i);
    self_attention(graph, name + ".attention", spec.width, tokens);
    graph.layer_norm(name + ".norm1", spec.width, tokens);
    feed_forward(graph, name, spec.width, 4 * spec.width, tokens);
    graph.layer_norm(name + ".norm2", spec.width, tokens);
  }
  bert_heads(graph, spec);
  return graph.layers;
}

std::vector<Layer> gpt(const TransformerSizes& sizes, int sequence) {
  Graph graph;
  const int width = sizes.hidden, queries = sizes.heads * sizes.head_dim,
            keys = sizes.kv_heads * sizes.head_dim;
  const double tokens = sequence;
  graph.embedding("wte", sizes.vocab, width, tokens);
  if (sizes.positions > 0) graph.embedding("wpe", sizes.positions, width, tokens);
  for (int i = 0; i < sizes.layers; ++i) {
    const auto name = fmt::format("h.{}", i);
    graph.layer_norm(name + ".ln_1", width, tokens);
    graph.linear(name + ".attn.c_attn", width, queries + 2 * keys, tokens);
    graph.attention(name + ".attn.scores", queries, tokens, tokens);
    graph.linear(name + ".attn.c_proj", queries, width, tokens);
    graph.layer_norm(name + ".ln_2", width, tokens);
    feed_forward(graph, name + ".mlp", width, sizes.ffn, tokens);
  }
  graph.layer_norm("ln_f", width, tokens);
  if (sizes.tied)
    tied_output(graph, width, sizes.vocab, tokens);
  else
    graph.linear("lm_head", width, sizes.vocab, tokens, false);
  return graph.layers;
}

std::vector<Layer> llama(const TransformerSizes& sizes, int sequence) {
  Graph graph;
  const int width = sizes.hidden, queries = sizes.heads * sizes.head_dim,
            keys = sizes.kv_heads * sizes.head_dim;
  const double tokens = sequence;
  graph.embedding("embed_tokens", sizes.vocab, width, tokens);
  if (sizes.positions > 0) graph.embedding("embed_positions", sizes.positions, width, tokens);
  for (int i = 0; i < sizes.layers; ++i) {
    const auto name = fmt::format("layers.{}", i);
    graph.linear(name + ".q_proj", width, queries, tokens, false);
    graph.linear(name + ".k_proj", width, keys, tokens, false);
    graph.linear(name + ".v_proj", width, keys, tokens, false);
    if (sizes.head_norms) {
      graph.layer_norm(name + ".q_norm", sizes.head_dim, tokens * sizes.heads, 1);
      graph.layer_norm(name + ".k_norm", sizes.head_dim, tokens * sizes.kv_heads, 1);
    }
    graph.attention(name + ".scores", queries, tokens, tokens, true);
    graph.linear(name + ".o_proj", queries, width, tokens, false);
    if (sizes.moe())
      experts(graph, name, sizes, tokens);
    else
      gated(graph, name, {width, sizes.ffn}, tokens, "_proj");
    graph.layer_norm(name + ".input_norm", width, tokens, 1);
    graph.layer_norm(name + ".post_norm", width, tokens, 1);
  }
  graph.layer_norm("norm", width, tokens, 1);
  if (sizes.tied)
    tied_output(graph, width, sizes.vocab, tokens);
  else
    graph.linear("lm_head", width, sizes.vocab, tokens, false);
  return graph.layers;
}

std::vector<Layer> vit(const VitSpec& spec) {
  Graph graph;
  const int side = spec.image / spec.patch;
  const double tokens = side * side + 1;
  auto patches = square(spec.patch, spec.patch);
  patches.bias = true;
  graph.conv("conv_proj", ImageShape{3, spec.image, spec.image}, spec.width, patches);
  graph.embedding("class_token", 1, spec.width, 1);
  graph.embedding("pos_embedding", side * side + 1, spec.width, tokens);
  for (int i = 0; i < spec.layers; ++i) {
    const auto name = fmt::format("encoder.{}", i);
    graph.layer_norm(name + ".ln_1", spec.width, tokens);
    graph.linear(name + ".in_proj", spec.width, 3 * spec.width, tokens);
    graph.attention(name + ".scores", spec.width, tokens, tokens);
    graph.linear(name + ".out_proj", spec.width, spec.width, tokens);
    graph.layer_norm(name + ".ln_2", spec.width, tokens);
    feed_forward(graph, name + ".mlp", spec.width, spec.inner, tokens);
  }
  graph.layer_norm("ln", spec.width, tokens);
  graph.linear("head", spec.width, 1000);
  return graph.layers;
}

std::vector<Layer> bart_large(int sequence) {
  constexpr int kWidth = 1024, kVocabulary = 50265;
  Graph graph;
  const double tokens = sequence;
  graph.embedding("shared", kVocabulary, kWidth, 2 * tokens);
  for (const auto* half : {"encoder", "decoder"}) {
    graph.embedding(fmt::format("{}.positions", half), 1026, kWidth, tokens);
    for (int i = 0; i < 12; ++i) {
      const auto name = fmt::format("{}.{}", half, i);
      for (const auto* part : {".self", ".cross"}) {
        if (half[0] == 'e' && part[1] == 'c') continue;
        self_attention(graph, name + part, kWidth, tokens);
        graph.layer_norm(name + part + ".norm", kWidth, tokens);
      }
      feed_forward(graph, name, kWidth, 4 * kWidth, tokens);
      graph.layer_norm(name + ".norm", kWidth, tokens);
    }
    graph.layer_norm(fmt::format("{}.norm", half), kWidth, tokens);
  }
  tied_output(graph, kWidth, kVocabulary, tokens);
  return graph.layers;
}

}  // namespace gradwire

#include <fmt/format.h>

#include "predict/workload/builders.h"

// Decoders as Llama's whose feed-forward part is a mixture of experts: every expert's weights are there, and a token
// passes a few of them (Jiang et al. 2024, arXiv:2401.04088).
namespace gradwire {
namespace {

void experts(Graph& graph, const std::string& name, const MixtureSpec& spec) {
  const double tokens = spec.sequence;
  graph.linear(name + ".router", spec.width, spec.experts, tokens, false);
  // One matrix product for each expert, together as many rows as tokens take experts.
  const double rows = tokens * spec.experts_per_token / spec.experts;
  for (int i = 0; i < spec.experts; ++i)
    for (const auto* part : {".gate", ".up", ".down"}) {
      const bool down = part[1] == 'd';
      graph.linear(fmt::format("{}.experts.{}{}", name, i, part), down ? spec.inner : spec.width,
                   down ? spec.width : spec.inner, rows, false);
    }
}

}  // namespace

std::vector<Layer> mixture(const MixtureSpec& spec) {
  Graph graph;
  const double tokens = spec.sequence;
  const int queries = spec.heads * spec.head_dim, keys = spec.kv_heads * spec.head_dim;
  graph.embedding("embed_tokens", spec.vocabulary, spec.width, tokens);
  for (int i = 0; i < spec.layers; ++i) {
    const auto name = fmt::format("layers.{}", i);
    graph.linear(name + ".q_proj", spec.width, queries, tokens, false);
    graph.linear(name + ".k_proj", spec.width, keys, tokens, false);
    graph.linear(name + ".v_proj", spec.width, keys, tokens, false);
    if (spec.head_norms) {
      graph.layer_norm(name + ".q_norm", spec.head_dim, tokens * spec.heads, 1);
      graph.layer_norm(name + ".k_norm", spec.head_dim, tokens * spec.kv_heads, 1);
    }
    graph.attention(name + ".scores", queries, tokens, tokens, true);
    graph.linear(name + ".o_proj", queries, spec.width, tokens, false);
    experts(graph, name, spec);
    graph.layer_norm(name + ".input_norm", spec.width, tokens, 1);
    graph.layer_norm(name + ".post_norm", spec.width, tokens, 1);
  }
  graph.layer_norm("norm", spec.width, tokens, 1);
  graph.linear("lm_head", spec.width, spec.vocabulary, tokens, false);
  return graph.layers;
}

}  // namespace gradwire

// A transformer by its sizes: what tensor, pipeline, context and expert parallelism need to know of a model to
// cut it. A value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gradwire {

struct TransformerSizes {
  std::string name;
  int layers = 12, hidden = 768, heads = 12, kv_heads = 12, head_dim = 64;
  int ffn = 3072;        // inner width of a dense feed-forward part
  int mlp_matrices = 2;  // 3 when gated
  int vocab = 50257, sequence = 1024;
  int positions = 0;  // of a learnt table; 0: none
  bool tied = true;   // the output layer is the embedding
  bool causal = true;
  bool biases = true;       // of linear layers, and norms with two vectors
  bool cross = false;       // half of the layers also attend to the others (encoder-decoder)
  bool head_norms = false;  // of queries and keys
  int experts = 0, experts_per_token = 0, expert_ffn = 0;  // 0: dense
  int dense_layers = 0;   // of a mixture of experts: first layers without experts
  int shared_ffn = 0;     // inner width of the experts that every token takes
  double parameters = 0;  // where a source states them, what the pieces are scaled to; 0: as counted
  double active = 0;      // a token's, likewise
  bool moe() const { return experts > 1; }
  bool operator==(const TransformerSizes&) const = default;
};

// Of a built-in model or a YAML file, with another sequence if one is given. Throws ConfigError with near names, and for
// models that are no transformers or do not state their sizes.
TransformerSizes transformer_sizes(std::string_view name, std::optional<int> sequence = {});
std::optional<TransformerSizes> find_transformer(std::string_view name);

}  // namespace gradwire

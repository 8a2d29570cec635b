// A transformer by its sizes: what tensor, pipeline, context and expert parallelism need to know of a model to
// cut it. Parameters and arithmetic by piece, counted per layer. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// Weights of one layer: what every token passes, and what its experts hold in all and a token takes of them.
struct LayerWeights {
  double attention = 0, mlp = 0, norms = 0;
  double experts = 0, experts_taken = 0;
  double held() const { return attention + mlp + norms + experts; }
  double taken() const { return attention + mlp + norms + experts_taken; }
};

LayerWeights layer_weights(const TransformerSizes&);  // the average layer
double embedding_weights(const TransformerSizes&);    // of one table: vocabulary x hidden
double parameter_count(const TransformerSizes&);
double active_parameter_count(const TransformerSizes&);

// Arithmetic of a forward, one token: products with weights of a layer, of attention, of the output layer.
double layer_flops(const TransformerSizes&);
double attention_flops(const TransformerSizes&);
double output_flops(const TransformerSizes&);

// As published tables count it: 6 x weights + 6 x attention a token, 4 x where weights are frozen.
double model_flops_per_token(const TransformerSizes&, bool frozen = false);

// Of a built-in model, with another sequence if one is given. Throws ConfigError with near names, and for models that
// are no transformers.
TransformerSizes transformer_sizes(std::string_view name, std::optional<int> sequence = {});
const std::vector<TransformerSizes>& known_transformers();

void check_sizes(const TransformerSizes&);  // throws ConfigError: which number, and what would be right

}  // namespace gradwire

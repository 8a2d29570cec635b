#include "predict/parallel/weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace gradwire {
namespace {

double attention_weights(const TransformerSizes& shape) {
  const double width = double(shape.heads) * shape.head_dim, kv = double(shape.kv_heads) * shape.head_dim;
  const double one = shape.hidden * (2 * width + 2 * kv) + (shape.biases ? width + 2 * kv + shape.hidden : 0);
  return shape.cross ? 1.5 * one : one;
}

double mlp_weights(const TransformerSizes& shape, double inner) {
  return shape.mlp_matrices * inner * shape.hidden + (shape.biases ? inner + shape.hidden : 0);
}

// What the pieces add up to before they are scaled to what a source states.
double counted(const TransformerSizes& shape, const LayerWeights& layer, bool active) {
  const double tables = embedding_weights(shape) * (shape.tied ? 1 : 2);
  return shape.layers * (active ? layer.taken() : layer.held()) + tables + end_weights(shape);
}

LayerWeights plain_weights(const TransformerSizes& shape) {
  LayerWeights layer;
  layer.attention = attention_weights(shape);
  layer.norms = shape.hidden * (shape.biases ? 4.0 : 2.0);
  if (!shape.moe()) {
    layer.mlp = mlp_weights(shape, shape.ffn);
    return layer;
  }
  const double dense = double(shape.dense_layers) / shape.layers, sparse = 1 - dense;
  const double one = mlp_weights(shape, shape.expert_ffn);
  layer.mlp = dense * mlp_weights(shape, shape.ffn) +
              sparse * (shape.shared_ffn > 0 ? mlp_weights(shape, shape.shared_ffn) : 0);
  layer.experts = sparse * (one * shape.experts + double(shape.hidden) * shape.experts);  // with the router
  layer.experts_taken = sparse * one * shape.experts_per_token;
  return layer;
}

}  // namespace

double embedding_weights(const TransformerSizes& shape) { return double(shape.vocab) * shape.hidden; }

double end_weights(const TransformerSizes& shape) {
  return double(shape.positions) * shape.hidden + shape.hidden * (shape.biases ? 2 : 1);
}

LayerWeights layer_weights(const TransformerSizes& shape) {
  auto layer = plain_weights(shape);
  if (shape.parameters <= 0) return layer;
  // Sizes a source leaves out (second tables, other widths) show in its count: what is over is spread on layers.
  const double over = (shape.parameters - counted(shape, layer, false)) / shape.layers;
  const double scale = std::max(0.2, 1 + over / layer.held());
  if (shape.moe()) {
    layer.experts *= scale;
    layer.experts_taken *= scale;
  } else {
    layer.attention *= scale;
    layer.mlp *= scale;
  }
  return layer;
}

double parameter_count(const TransformerSizes& shape) { return counted(shape, layer_weights(shape), false); }

double active_parameter_count(const TransformerSizes& shape) {
  return shape.active > 0 ? shape.active : counted(shape, layer_weights(shape), true);
}

double layer_flops(const TransformerSizes& shape) { return 2 * layer_weights(shape).taken(); }

double attention_flops(const TransformerSizes& shape) {
  const double pairs = double(shape.sequence) * (shape.causal ? 0.5 : 1);
  return 4 * pairs * shape.heads * shape.head_dim * (shape.cross ? 1.5 : 1);
}

double output_flops(const TransformerSizes& shape) { return 2 * embedding_weights(shape); }

double model_flops_per_token(const TransformerSizes& shape, bool frozen) {
  const double forward = shape.layers * (layer_flops(shape) + attention_flops(shape)) + output_flops(shape);
  return forward * (frozen ? 2 : 3);
}

void check_sizes(const TransformerSizes& shape) {
  const auto need = [&](bool right, std::string_view what, double value) {
    if (!right) throw ConfigError(fmt::format("{:.60}: {} of {} can't be", shape.name, what, value));
  };
  need(shape.layers >= 1 && shape.layers <= 10000, "layers", shape.layers);
  need(shape.hidden >= 1 && shape.hidden <= 1 << 20, "a hidden width", shape.hidden);
  need(shape.heads >= 1 && shape.heads <= 1 << 16, "heads", shape.heads);
  need(shape.kv_heads >= 1 && shape.kv_heads <= shape.heads, "heads of keys and values", shape.kv_heads);
  need(shape.head_dim >= 1 && shape.head_dim <= 1 << 16, "a width of heads", shape.head_dim);
  need(shape.ffn >= 0 && shape.ffn <= 1 << 24, "an inner width", shape.ffn);
  need(shape.mlp_matrices == 2 || shape.mlp_matrices == 3, "matrices of the feed-forward part",
       shape.mlp_matrices);
  need(shape.vocab >= 1 && shape.vocab <= 1 << 24, "a vocabulary", shape.vocab);
  need(shape.sequence >= 1 && shape.sequence <= 1 << 24, "a sequence", shape.sequence);
  need(!shape.moe() || shape.expert_ffn > 0, "an inner width of experts", shape.expert_ffn);
  need(!shape.moe() || (shape.experts_per_token >= 1 && shape.experts_per_token <= shape.experts),
       "experts of a token", shape.experts_per_token);
  need(shape.dense_layers >= 0 && shape.dense_layers < shape.layers, "layers without experts",
       shape.dense_layers);
}

}  // namespace gradwire

// Parameters and arithmetic of a transformer by piece, counted per layer from its sizes. Pure functions.
#pragma once

#include "predict/workload/transformer.h"

namespace gradwire {

// Weights of one layer: what every token passes, and what its experts hold in all and a token takes of them.
struct LayerWeights {
  double attention = 0, mlp = 0, norms = 0;
  double experts = 0, experts_taken = 0;
  double held() const { return attention + mlp + norms + experts; }
  double taken() const { return attention + mlp + norms + experts_taken; }
};

LayerWeights layer_weights(const TransformerSizes&);  // the average layer
double embedding_weights(const TransformerSizes&);    // of one table: vocabulary x hidden
double end_weights(const TransformerSizes&);          // of neither layers nor those: positions, the last norm
double parameter_count(const TransformerSizes&);
double active_parameter_count(const TransformerSizes&);

// Arithmetic of a forward, one token: products with weights of a layer, of attention, of the output layer.
double layer_flops(const TransformerSizes&);
double attention_flops(const TransformerSizes&);
double output_flops(const TransformerSizes&);

// As published tables count it: 6 x weights + 6 x attention a token, 4 x where weights are frozen.
double model_flops_per_token(const TransformerSizes&, bool frozen = false);

void check_sizes(const TransformerSizes&);  // throws ConfigError: which number, and what would be right

}  // namespace gradwire

// A training step of a layout on a machine, reduced to what its price is made of: the arithmetic and memory traffic of
// a layer on the busiest GPU, and the times of every collective and message. Everything that no fitted constant
// touches, so a problem is made once and priced with any constants. A value.
#pragma once

#include "predict/parallel/group_wires.h"
#include "predict/parallel/layout.h"
#include "predict/parallel/weights.h"

namespace gradwire {

// Of one micro-batch in one layer, forward, on one GPU.
struct LayerWork {
  double matmul_flops = 0, attention_flops = 0;
  double attention_bytes = 0;  // scores that reach memory
  double element_bytes = 0;    // of activations read or written once
  double frozen_bytes = 0;     // weights that are unpacked before use, 16-bit each
  double head_share =
      1;            // of its rate that fused attention loses nothing of: narrow heads fill tensor cores less
  int matmuls = 0;  // kernels
};

// Times that NCCL's model gives, seconds.
struct PlanWires {
  double tensor_forward = 0, tensor_backward = 0;    // a layer and micro-batch
  double context_forward = 0, context_backward = 0;  // likewise
  double expert_forward = 0, expert_backward = 0;    // likewise
  double message = 0;                                // to the next stage, a micro-batch
  double gather_forward = 0, gather_backward = 0,
         scatter = 0;           // of all layers of a GPU: each micro-batch (ZeRO-2, 3)
  double join = 0, spread = 0;  // gradients once a step; parameters gathered after an update (ZeRO-1, 2)
};

struct PlanProblem {
  double peak = 0, wide_peak = 0;  // flops/s of the products, and of those no narrower than 16 bits
  double memory_bytes_per_s = 0;
  double host_bytes_per_s = 0;
  bool desktop = false;  // a GeForce: runs above the clock that its peak is quoted for
  LayerWork layer;
  double output_flops = 0, logits = 0;  // of a micro-batch in the output layer
  int layers = 1;                       // of the model
  PlanWires wires;
  double parameters = 0;        // that a GPU holds when gathered
  double updated = 0;           // that it updates
  double host_bytes = 0;        // that travel to and from host memory in a step
  double host_micro_bytes = 0;  // and in each micro-batch
  ParallelLayout layout;
  int ranks = 1, sequence = 1;
};

// Whether the GPU multiplies in that precision at a rate of its own.
bool has_products(const Gpu&, Precision);
Precision usual_precision(const Gpu&);  // what it trains in, where nobody says: bf16 if it has that

PlanProblem make_problem(const TransformerSizes&, const ParallelLayout&, GroupWires&);

}  // namespace gradwire

// What a GPU must hold to train a layout, item by item: the busiest GPU of the first stage, which keeps the
// activations of as many micro-batches as there are stages behind it. Pure arithmetic on sizes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "predict/parallel/layout.h"
#include "predict/parallel/weights.h"
#include "topo/gpu.h"

namespace gradwire {

struct PlanMemory {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, buffers = 0;  // bytes
  double host = 0;  // bytes of host memory, of this GPU's share of the model: in no total
  double total() const { return weights + gradients + optimizer + activations + buffers; }
  std::vector<std::pair<std::string, double>> items() const;  // for people, largest first
};

PlanMemory plan_memory(const TransformerSizes&, const ParallelLayout&);

// What training may use of a GPU: what the data sheet says less what driver and fragments take.
double usable_memory(const Gpu&);

// Activations that one layer keeps of a micro-batch, bytes on one GPU (Korthikanti et al. 2022, arXiv:2205.05198).
double layer_activations(const TransformerSizes&, const ParallelLayout&);

}  // namespace gradwire

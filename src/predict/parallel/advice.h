// What would make a model fit that does not: host memory, or more nodes of the same kind. Pure functions of values.
#pragma once

#include <optional>

#include "predict/parallel/candidates.h"
#include "topo/machine.h"

namespace gradwire {

constexpr int kMostNodesTried = 4096;

struct WouldFit {
  std::optional<double>
      offloaded;             // bytes of a GPU with the optimizer's state in host memory, where that fits
  double host = 0;           // and bytes of that state in the host memory of a node
  std::optional<int> nodes;  // the least that hold it; nothing: not even kMostNodesTried do
};

// `least` is the layout that holds least of those asked for.
WouldFit what_would_fit(const PlanQuestion&, const Machine&, const ParallelLayout& least);

// The least number of such nodes that holds it, dp, tp and pp left open, and more than the machine has. Sizes must
// divide, so that a larger number may not hold it.
std::optional<int> find_fitting_nodes(const PlanQuestion&, const Machine&);

}  // namespace gradwire

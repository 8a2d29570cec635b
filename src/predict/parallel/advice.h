// What would make a model fit that does not: host memory, or more nodes of the same kind. Pure functions of values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/parallel/search.h"

namespace gradwire {

// The least number of such nodes that holds it, dp, tp and pp left open, and more than the machine has. Sizes must
// divide, so that a larger number may not hold it. Nothing: not even 4096 do.
std::optional<int> find_fitting_nodes(const PlanQuestion&, const Machine&);

// In sentences without a full stop; `least` is the plan that holds least.
std::vector<std::string> what_would_fit(const PlanQuestion&, const Machine&, const PlannedStep& least);

}  // namespace gradwire

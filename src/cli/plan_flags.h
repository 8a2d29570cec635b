// The sizes of a layout as flags: those of `plan`, and of `compare` where a model is split.
#pragma once

#include <string>

#include "predict/parallel/search.h"

namespace CLI {
class App;
}

namespace gradwire {

struct PlanSizes {
  int dp = 0, tp = 0, pp = 0, micro_batch = 0, chunks = 0, experts = 0, shard = -1;
  std::string recompute;
  bool offload = false;
  bool any() const;  // whether one is given
};

void add_plan_sizes(CLI::App& verb, PlanSizes& sizes);
void apply(const PlanSizes&, PlanQuestion&);  // throws ConfigError

}  // namespace gradwire

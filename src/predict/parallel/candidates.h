// What is asked of a plan, and every layout that answers it. Pure functions of values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/nccl/settings.h"
#include "predict/parallel/layout.h"
#include "predict/workload/transformer.h"
#include "topo/machine.h"

namespace gradwire {

// What is absent is searched over.
struct PlanQuestion {
  TransformerSizes shape;
  int batch = 0;  // sequences of a step over all GPUs; 0: eight a GPU
  Precision precision = Precision::bf16;
  std::optional<int> dp, tp, pp, shard, micro_batch, virtual_stages, expert_parallel;
  std::optional<Recompute> recompute;
  bool offload = false;  // optimizer state in host memory
  NcclSettings nccl;     // what the environment tells NCCL
};

// What a question of no batch trains in a step of so many GPUs.
int batch_of(const PlanQuestion&, int gpus);

// Every layout of the question on so many GPUs; none where sizes do not divide.
std::vector<ParallelLayout> candidate_layouts(const PlanQuestion&, int gpus);

// The same on a machine, of which there are some. Throws ConfigError with the reason where there are none: a GPU of which
// nothing is known or without such products, a size that does not divide, experts or replicas that are not there.
std::vector<ParallelLayout> layouts_on(const PlanQuestion&, const Machine&);

}  // namespace gradwire

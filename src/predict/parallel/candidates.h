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

constexpr int kMostSequences = 1 << 24;  // of a step

// What sizes are called by whoever asks, for answers that name them.
struct PlanFlagNames {
  const char* micro_batch = "--micro-batch";
  const char* virtual_stages = "--chunks";
  const char* offload = "--offload";
};

// A step on one GPU of the machine, without any distribution, as it was measured.
struct StepOnOneGpu {
  Seconds step = 0;
  int batch = 1;  // sequences of it, all at once
};

// What is absent is searched over.
struct PlanQuestion {
  TransformerSizes shape;
  int batch = 0;  // sequences of a step over all GPUs; 0: eight a GPU
  Precision precision = Precision::bf16;
  bool precision_assumed = false;  // nobody said it: what the GPUs train in
  std::optional<int> dp, tp, pp, shard, micro_batch, virtual_stages, expert_parallel;
  std::optional<Recompute> recompute;
  bool sequence_parallel = true;         // where layers are shared
  bool offload = false;                  // optimizer state in host memory
  std::optional<double> memory;          // bytes that a GPU may hold; absent: usable_memory() of it
  std::optional<StepOnOneGpu> measured;  // says how long computing takes; absent: that is estimated
  NcclSettings nccl;                     // what the environment tells NCCL
  PlanFlagNames flags;
};

// What machines that are compared train in where nobody says: the widest of what is usual on each.
Precision usual_precision(const std::vector<Machine>&);

// How many sequences replicas take in a step of so many micro-batches each. Throws ConfigError where they are too many.
int sequences_of(int replicas, int micro_batches, int micro_batch);

// What a question of no batch trains in a step of so many GPUs.
int batch_of(const PlanQuestion&, int gpus);

// Bytes that a GPU may hold: what was asked for, or what can be used of it.
double memory_limit(const PlanQuestion&, const Gpu&);

// Every layout of the question on so many GPUs; none where sizes do not divide.
std::vector<ParallelLayout> candidate_layouts(const PlanQuestion&, int gpus);

// The same on a machine, of which there are some. Throws ConfigError with the reason where there are none: a GPU of which
// nothing is known or without such products, a size that does not divide, experts or replicas that are not there.
std::vector<ParallelLayout> layouts_on(const PlanQuestion&, const Machine&);

}  // namespace gradwire

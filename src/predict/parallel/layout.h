// How a transformer is trained on many GPUs: the sizes of each dimension, the schedule, what is sharded, what is
// recomputed or kept in host memory. What `gradwire plan` searches over and a measured record states. A value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "sched/mesh.h"
#include "sched/pipeline.h"
#include "sched/training.h"

namespace gradwire {

struct ParallelLayout {
  Mesh mesh;               // dp, tp, pp, cp
  int virtual_stages = 1;  // chunks a GPU holds
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int expert_parallel = 1;         // neighbours inside dp x cp x tp
  bool sequence_parallel = false;  // norms and dropout split over tp
  ContextKind context = ContextKind::ring;
  int shard = 0;                           // 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too
  int shard_size = 0;                      // ranks the shards span; 0: all dp x cp
  int micro_batch = 1, micro_batches = 1;  // sequences at a time, and how many times a step
  Recompute recompute = Recompute::none;
  Precision precision = Precision::bf16;
  Tuning tuning = Tuning::full;
  bool offload_optimizer = false, offload_parameters = false, offload_activations = false;
  bool fused_attention = true;  // scores never reach memory (FlashAttention)
  bool compiled = false;        // elementwise operations are fused by a compiler (torch.compile)
  bool overlap = true;          // gradients are joined and parameters gathered under compute
  bool overlap_update = true;   // of shard 1 and 2: parameters are gathered under the forward after an update
  // Of shard 1 and 2: a tensor belongs to one rank, and owners broadcast theirs in turn; gradients of shard 1 go to all.
  bool whole_tensors = false;
  // Of shard 3: a layer that was computed again has released what is used only after so many others by its backward.
  double kept_parameters = std::numeric_limits<double>::infinity();
  int gradient_bytes = 4;           // of an element as it is joined over dp
  int state_bytes = 12;             // of optimizer state a parameter: adam_bytes()
  std::optional<double> pace = {};  // times that computing takes what is estimated, where a step was measured
  int ranks() const { return mesh.ranks(); }
  int replicas() const { return mesh.dp * mesh.cp; }  // that hold the same weights, experts aside
  int sharded_over() const { return shard == 0 ? 1 : shard_size > 0 ? shard_size : replicas(); }
  // The experts of a stage: pieces that neighbouring ranks hold, whole experts or, where tp is wider than ep, slices of
  // them; how often each piece is there; and how many ranks share one out.
  int expert_pieces() const { return std::lcm(mesh.tp, expert_parallel); }
  int expert_copies() const { return replicas() * mesh.tp / expert_pieces(); }
  int experts_sharded_over() const { return std::min(sharded_over(), expert_copies()); }
  int sequences() const { return mesh.dp * micro_batch * micro_batches; }  // of a step
  bool frozen() const { return tuning != Tuning::full; }
  bool operator==(const ParallelLayout&) const = default;
};

// Bytes of a weight or an activation as it is kept and sent.
int number_bytes(Precision);
// Bytes of Adam's state a parameter: two moments, and a 32-bit copy where the weights themselves are narrower.
int adam_bytes(Precision);

// All but fp64; these throw ConfigError listing what there is.
Precision parse_plan_precision(std::string_view);
Recompute parse_recompute(std::string_view);

// "dp 2 x tp 8, ZeRO-1, full recomputation"
std::string describe(const ParallelLayout&);

// Throws ConfigError: sizes that can't be, or do not divide the ranks of a stage.
void check_layout(const ParallelLayout&);

}  // namespace gradwire

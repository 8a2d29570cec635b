#include "sched/ddp_step.h"

namespace gradwire {

StepGraph ddp_step_graph(int ranks, std::span<const Bucket> buckets, int accumulate) {
  StepPlan plan;
  plan.mesh.dp = ranks;
  plan.micro_batches = accumulate;
  plan.join_alone = true;
  ChunkCut cut;
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) cut.units.push_back(bucket->bytes);
  return make_step_graph(plan, {cut});
}

}  // namespace gradwire

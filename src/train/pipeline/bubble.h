// How much of a pipeline's step is bubble, by the order in which its stages worked: counted in slots, one for each forward
// and each backward of a chunk, so that it does not depend on how fast they were. Without torch.
#pragma once

#include <vector>

#include "sched/mesh.h"
#include "sched/pipeline.h"
#include "trace/timeline.h"

namespace gradwire {

// What each stage of one pipeline computed in a step, in order, as the parts of a recorded timeline's spans say: those of the ranks
// of replica 0 and tensor rank 0. Spans of other things are passed over.
std::vector<std::vector<StageWork>> executed_order(const Timeline& timeline, const Mesh& mesh, int step);

// The share of idle slots when every stage works in that order, as early as what it needs is there, and every forward and
// backward takes one slot. Throws Error where the order can't be: a stage that waits for ever.
double idle_share(const PipelineShape& shape, const std::vector<std::vector<StageWork>>& order);

}  // namespace gradwire

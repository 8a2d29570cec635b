// How `gradwire train` cuts a model among its ranks: --dp, --tp, --pp and what belongs to them. Values; without torch.
#pragma once

#include "sched/mesh.h"
#include "sched/pipeline.h"
#include "train/job/options.h"
#include "train/job/result.h"

namespace gradwire {

// The model is cut, or recomputed: more than DistributedDataParallel around the whole of it.
bool uses_mesh(const TrainOptions& options);

// The same, or replicas share out what each of them would hold.
bool is_split(const TrainOptions& options);

// Ranks that share a model and must not communicate do their parts alone: see train/rehearsal.h.
bool rehearses(const TrainOptions& options);

// Ranks that hold one copy of the model together.
int ranks_a_model(const TrainOptions& options);

// With the numbers of micro-batches and chunks that nobody said. Throws ConfigError naming the flag, for flags that contradict
// each other: what would be right is in the text.
TrainOptions complete_counts(TrainOptions options);

// The same, also for flags that contradict the model.
TrainOptions complete_mesh(TrainOptions options, const TrainableModel& model);

// What so many ranks are: dp is what tp and pp leave. Throws ConfigError.
Mesh mesh_of(const TrainOptions& options, int ranks);
// Throws ConfigError where a model that is cut shall be sharded and there is one of it. One rank of its own may: a run that
// was of several goes on so.
void check_replicas(const TrainOptions& options, const Mesh& mesh);
PipelineShape pipeline_of(const TrainOptions& options);

// What a recorded timeline says of the pipeline: the bubble by the order of one step, and what ranks waited for each other.
struct PipelineStep {
  int step = 0;          // one that was recorded
  bool complete = true;  // no span of the run was dropped
};
PipelineResult measure_pipeline(const Timeline& timeline, const TrainOptions& options,
                                const PipelineStep& recorded);

}  // namespace gradwire

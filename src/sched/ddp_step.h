// DistributedDataParallel's step as a graph of tasks: one chunk on every rank, whose units are the buckets of its gradients.
// A unit's backward has ended when the last gradient of its bucket is there; its all-reduce comes after that, in the lane
// of the ranks, and the update after all of them. The reducer takes from it which bucket leaves when and what
// it has to wait for (train/bucket_ledger.h), verify() proves it, run_step() passes its time.
//
// Autograd computes the units of one backward together, and ends them in whatever order it likes: nothing here relies on
// theirs.
#pragma once

#include <span>

#include "sched/buckets.h"
#include "sched/step_graph.h"

namespace gradwire {

// `buckets` in the order in which they leave, at least one. Ranks are alike, but for their names. With `accumulate`
// micro-batches the last one's backward sends.
StepGraph ddp_step_graph(int ranks, std::span<const Bucket> buckets, int accumulate = 1);

// Which of so many buckets a task of such a graph is of: units are counted in forward order, buckets as they leave.
inline int bucket_of(const Task& task, int buckets) { return buckets - 1 - task.unit; }

}  // namespace gradwire

// How a training loop uses DistributedDataParallel, counted in its trace: how often it synchronises, in which
// pieces, and what it does besides. A pure function of a profile.
#pragma once

#include "explain/rank_steps.h"

namespace gradwire {

struct LoopHabits {
  int optimizer_steps = 0;  // of all optimizers
  int forwards = 0;         // of DistributedDataParallel
  int synced_forwards = 0;  // of these, followed by an all-reduce before the next one
  int searches = 0;         // for unused parameters
  Seconds searching = 0;    // in all of them
  bool sync_batch_norm = false;
};

LoopHabits loop_habits(const Profile&);

}  // namespace gradwire

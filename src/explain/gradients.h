// The gradients of a run that sent none, as one on a single GPU: how large they are, and when each bucket of them is there,
// so that wires can be put under it. And when the GPU is done with what was launched. Pure functions of a profile.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "explain/rank_steps.h"

namespace gradwire {

// Borrows the profile.
class DoneByLaunch {
 public:
  explicit DoneByLaunch(const Profile&);

  // When the GPU was done with all kernels that were launched before; nothing where there were none.
  std::optional<Nanoseconds> find(Nanoseconds launched_before) const;

  // When what a collective waits for was done; its own begin where the trace does not tell.
  Nanoseconds ready(const Activity& collective) const;

 private:
  Launches launches_;
  std::vector<std::pair<Nanoseconds, Nanoseconds>> done_;  // by the time of launch
};

struct MadeBucket {
  Bytes bytes = 0;
  Nanoseconds ready = 0;
};

// Of each step: gradients as backward hands them over (AccumulateGrad), cut as DistributedDataParallel cuts them. Where the
// trace has no shapes of these, as many bytes as the optimizer updates, spread evenly over backward; so are `parameters` of
// 4 bytes, if there are any. Steps of which nothing is known have none.
std::vector<std::vector<MadeBucket>> made_buckets(const Profile&, const RankSteps&, const PlacedWork&,
                                                  double parameters);

}  // namespace gradwire

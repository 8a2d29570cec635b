// What one machine gains over another where a model is split, each by a plan of its own, and where that lies: how far the
// collectives of either are off, whether host memory hides them, slots that nobody stated, how long computing takes, and
// what ratios of two plans are off by where it is not the links alone that differ. Pure.
#pragma once

#include <optional>

#include "predict/compare/compare.h"
#include "predict/parallel/search.h"
#include "predict/step/other_slots.h"

namespace gradwire {

struct PlanSide {
  const Machine& machine;
  const PlannedStep& plan;
};

struct PlanGain : Effect {
  std::optional<OtherSlots> other_slots;  // where nobody stated them
  double in_other_slots = 1;              // the gain there
};

// Throughput of the first over that of the second, with the range that holds eight of ten.
PlanGain plan_gain(const PlanQuestion&, const PlanSide& better, const PlanSide& worse,
                   const ParallelModel& = default_parallel_model());

// What links without limits would gain on a machine.
PlanGain gain_without_limits(const PlanQuestion&, const PlanSide&,
                             const ParallelModel& = default_parallel_model());

}  // namespace gradwire

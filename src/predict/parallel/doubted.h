// What a plan's step takes where what is doubted is otherwise: collectives slower or faster than NCCL's model says,
// computing likewise, host memory that hides nothing, slots that nobody stated. One thread.
#pragma once

#include <optional>

#include "predict/parallel/search.h"
#include "predict/step/range.h"

namespace gradwire {

// Of mean absolute errors, as docs/parallel.md has them, to standard deviations of the logarithm.
inline constexpr double kDeviationOfMean = 1.25;

// As estimated, until something is changed.
struct PlanWorld {
  double collectives = 0;  // standard deviations that each takes longer by
  double longer = 0;       // logarithm of a factor that all of them take longer by beside that
  double computing = 0;    // logarithm of the factor that everything else takes longer by
  double hides = 1;        // 0: host memory hides nothing
  double other_slots = 0;  // 1: slots are the other ones
};

// A machine with its wires, and those that it would have in other slots. The machine must outlive it.
class DoubtedMachine {
 public:
  DoubtedMachine(const Machine&, const NcclSettings&);
  DoubtedMachine(const DoubtedMachine&) = delete;  // wires know their machine by its place
  GroupWires& wires() { return wires_; }
  GroupWires* find_other_wires() { return other_wires_ ? &*other_wires_ : nullptr; }
  bool through_host() const { return through_host_; }  // its collectives go through host memory

 private:
  std::optional<Machine> other_;
  GroupWires wires_;
  std::optional<GroupWires> other_wires_;
  bool through_host_ = false;
};

// Its traffic must be known. Machine, plan and model must outlive it.
class DoubtedPlan {
 public:
  DoubtedPlan(DoubtedMachine&, const TransformerSizes&, const PlannedStep&, const ParallelModel&);
  bool has_other_slots() const { return other_.has_value(); }
  bool through_host() const { return through_host_; }
  Seconds step(const PlanWorld&) const;
  Seconds step_without_wires(const PlanWorld&) const;  // over links without limits
  Effect range() const;                                // of the step: where eight of ten should lie

 private:
  double spread_of(TrafficKind) const;

  const PlannedStep& plan_;
  const ParallelModel& model_;
  PlanProblem problem_;
  std::optional<PlanWires> other_;
  bool through_host_;
};

}  // namespace gradwire

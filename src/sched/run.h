// The only loop that walks programs. It knows what may start; a fabric knows what a step does and when it
// ends: wires (comm/scheduled), a model of a machine (sim), sets of ranks that prove a program (verify.h).
#pragma once

#include <span>
#include <vector>

#include "sched/plan.h"
#include "trace/trace.h"

namespace gradwire {

class Fabric {
 public:
  virtual ~Fabric() = default;
  // Begins a step. The Step stays where it is until the run is over.
  virtual void start(StepId, const Step&) = 0;
  // The next step to end; throws when none ever will.
  virtual Event next() = 0;
};

// Runs plans and keeps its own memory between runs: a run allocates nothing once one as large has been. One
// thread at a time. Give it one plan (my part of a real collective), or the plans of all ranks, in rank
// order.
class Engine {
 public:
  // Events are appended to `trace` where there is one, in the order in which steps end.
  void run(std::span<const Plan> plans, Fabric& fabric, Trace* trace = nullptr);

 private:
  std::vector<std::int32_t> waiting_;    // of all plans, one after the other: what a step still waits for
  std::vector<std::size_t> first_step_;  // where a plan's steps begin in waiting_
};

Trace run(std::span<const Plan> plans, Fabric& fabric);

}  // namespace gradwire

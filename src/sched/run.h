// The only loop that walks programs. It knows what may start; a fabric knows what a step does and when it
// ends: wires (comm/scheduled), a model of a machine (sim), sets of ranks that prove a program (verify.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sched/program.h"

namespace gradwire {

// A step of a program: which rank's program, and which step of it.
struct StepId {
  Rank rank = 0;
  std::int32_t index = 0;
  bool operator==(const StepId&) const = default;
};

// What a run gives: when each step passed, in seconds since it began. The same of every fabric, so that a simulated
// run can be laid over a real one.
struct Event {
  StepId step;
  Seconds begin = 0, end = 0;
  Bytes bytes = 0;
};

struct Trace {
  std::string source;  // where it comes from: "tcp", "model: dgx-h100"
  std::vector<Event> events;
};

// A part with what its steps wait for: computed once from the chunks they touch, run many times. A value,
// read-only while it runs.

// Step i may start when waits[i] others let it: those that must end before it (they name it in `next`), and
// the one step before it to or from the same peer, which must have started (it names it in `behind`).
struct Plan {
  struct Links {
    std::int32_t behind = -1;  // the next message on the same way, or -1
    std::int32_t first = 0;    // its successors are next[first] up to next[the following step's first]
  };
  Part part = {};
  std::vector<std::int32_t> waits = {};
  std::vector<Links> links = {};  // one more than there are steps
  std::vector<std::int32_t> next = {};
};

Plan make_plan(Part part);
std::vector<Plan> make_plans(std::vector<Part> parts);

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

// A part with what its steps wait for: computed once from the chunks they touch, run many times. A value,
// read-only while it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/program.h"

namespace gradwire {

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

}  // namespace gradwire

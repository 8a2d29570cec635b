// What happened, when: the one record that runs, simulations and imported profiles share. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace gradwire {

// A step of a program: which rank's program, and which step of it.
struct StepId {
  Rank rank = 0;
  std::int32_t index = 0;
  bool operator==(const StepId&) const = default;
};

// Times are seconds since the trace began.
struct Event {
  StepId step;
  Seconds begin = 0, end = 0;
  Bytes bytes = 0;
};

struct Trace {
  std::string source;  // where it comes from: "tcp", "model: dgx-h100"
  std::vector<Event> events;
};

}  // namespace gradwire

// Where on the processor a training loop is, read off the names that PyTorch gives: steps, the next batch,
// backward, the optimizer. Pure functions of a profile.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explain/intervals.h"
#include "import/profile.h"

namespace gradwire {

struct HostStep {
  Interval window;
  int number = 0;
};

struct Landmarks {
  std::vector<HostStep> steps;  // in order; never empty
  std::string steps_from;       // "ProfilerStep", "Optimizer.step", "the whole trace"
  Intervals input;              // some thread waits for the next batch
  std::map<std::int32_t, Intervals> backward, optimizer;  // by lane
  Intervals any_backward, any_optimizer;                  // the same on whichever lane
  std::optional<std::int32_t> main_lane;                  // the thread that runs the loop
};

Landmarks find_landmarks(const Profile&);

}  // namespace gradwire

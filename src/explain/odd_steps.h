// Steps that are unlike the others of their run: a loader that starts, a profiler that is stopped, a checkpoint. What
// happens once says nothing of the rest; what happens twice is a habit, and counts. Pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "explain/rank_steps.h"

namespace gradwire {

struct OddStep {
  int number = 0;
  Seconds length = 0, usual = 0;  // of it, and the median
  std::string_view does;          // what it does so much longer: "waits for its input"
};

// Of all ranks, one vector each: a step that spends half of a usual step more on one thing than every other step does. What
// only some steps do, as all-reduces and the optimizer with accumulation, makes none odd. Empty where there are too few
// steps to tell, or most would be odd.
std::vector<OddStep> find_odd_steps(const std::vector<std::vector<RankStep>>& ranks);

bool is_odd(const std::vector<OddStep>&, int step);
std::vector<RankStep> without_odd(std::vector<RankStep>, const std::vector<OddStep>&);

}  // namespace gradwire

// What a framework is known to do otherwise than most where it trains in parallel: presets/frameworks.yaml, by a word of the
// name that a record gives. A value.
#pragma once

#include <limits>
#include <string_view>

namespace gradwire {

struct FrameworkHabits {
  bool whole_tensors = false;  // as the layout has them
  double kept_parameters = std::numeric_limits<double>::infinity();
};

FrameworkHabits habits_of(std::string_view framework);  // "megatron-lm with deepspeed zero-3"

}  // namespace gradwire

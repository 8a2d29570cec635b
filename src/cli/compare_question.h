// What is asked of a model of machines: which training, and how. The same for `compare` and `train --on`.
#pragma once

#include <string>

#include "cli/step_flags.h"
#include "trace/timeline.h"

namespace gradwire {

struct Question {
  Workload workload;
  StepOptions options;
  std::string warning;  // of what it rests on; empty: none
};

// Whether a name of a model means a file that `gradwire train --trace` wrote.
bool is_trace(const std::string& model);

// Gradwire's own, or one of torch.profiler, told by content.
Timeline recorded_timeline(const std::string& file);

// `model` is a built-in one, a YAML file, or a trace, which is a measured step too. Throws ConfigError.
Question question_of(const std::string& model, const StepFlags& flags);

}  // namespace gradwire

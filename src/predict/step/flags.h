// How a model is trained, in the words of a user: the flags of `compare` and `train --on`, and what a page asks. A value.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "predict/step/options.h"
#include "predict/workload/workload.h"

namespace gradwire {

struct StepFlags {
  int batch = 0, accumulate = 1, sequence = 0;
  double step_ms = 0, bucket_mb = 25, data_ms = 0;
  std::string precision = "fp32", gradients = "fp32", compression = "none", distribution = "ddp", optimizer,
              backend = "nccl";
  bool zero1 = false, no_overlap = false;
  std::map<std::string, std::string> nccl;  // its variables in the user's environment
  bool operator==(const StepFlags&) const = default;
};

// Throws ConfigError for values that can't be. DDP's own defaults: overlap, 25 MiB buckets.
StepOptions step_options(const StepFlags&, const Workload&);
std::optional<int> sequence_of(const StepFlags&);

}  // namespace gradwire

// What this very run would be on other links, or with rarer all-reduces: computing as measured, gradients and buckets as
// recorded, transfer by the model. Waiting for the rank that comes last is no transfer: it stays as it was. Pure functions of what is known of the run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/case_file.h"

namespace gradwire {

struct WhatIf {
  std::string what;  // "nvlink", "pcie", "accumulate 2"
  std::string on;    // the machine it was computed for; empty: the same
  Seconds step = 0;  // instead of the measured one
  Seconds exposed = 0;
  double relative_error =
      0;  // of the step, by the model's errors elsewhere; 0: arithmetic on what was measured
  // Where waiting for ranks that are not here can't be told from transfer: the step if all that was exposed beyond the
  // transfer to expect was waiting, which stays. Else equal to `step`.
  Seconds most = 0;
};

struct WhatIfs {
  Seconds step = 0, exposed = 0;  // as measured, mean of the ranks
  int ranks_here = 1, world = 1;  // fewer than all: waiting for the others is not known
  std::vector<WhatIf> rows;
  std::vector<std::string> missing;  // what can't be said, and why
};

// `links` are of "nvlink", "nvswitch", "pcie", or names of machines as --on takes them. Where the run can't be put on a
// machine its reason is in `missing`; a name that means nothing throws ConfigError.
WhatIfs what_if(const CaseFile&, const std::vector<std::string>& links);

// How much shorter the exposed communication of a step would be on the machine, as the model has it; nothing where the
// run can't be put on it.
std::optional<Seconds> find_gain(const CaseFile&, const Machine&);

// Some neighbours of a node have neither NVLink nor peer access: a ring over all runs at the rate of host memory.
bool goes_through_host(const Machine&);

// Gives findings of a log that keep GPUs of a node apart their price, where a trace and the machine are known.
void price_findings(const CaseFile&, std::vector<Finding>&);

// The preset's name of the GPU that a trace, a test or a report of its links names; empty: none does.
std::string gpu_named(const Gathered&);

}  // namespace gradwire

// Whether a training step fits a GPU's memory: roughly, and with the benefit of the doubt. Says no only when
// even a frugal implementation needs more than the GPU has.
#pragma once

#include <optional>
#include <string>

#include "base/units.h"
#include "predict/step/options.h"
#include "predict/workload/workload.h"
#include "topo/machine.h"

namespace gradwire {

// Of weights, gradients and optimizer state on one of `ranks` GPUs.
Bytes state_bytes(const Workload&, const StepOptions&, int ranks);

// Of what forward leaves for backward in one micro-batch.
Bytes activation_bytes(const Workload&, const StepOptions&);

// "gpt2 does not fit a GPU of dgx-a100: ..."; nothing when it fits or the GPU's memory is not known.
std::optional<std::string> find_memory_problem(const Workload&, const Machine&, const StepOptions&);

}  // namespace gradwire

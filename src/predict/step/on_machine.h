// The step model on a whole Machine: which wires a step has there, by the NCCL model.
#pragma once

#include <span>

#include "predict/nccl/all_reduce.h"
#include "predict/step/step.h"
#include "topo/machine.h"

namespace gradwire {

// `of_bytes` is the gradient whose algorithm and narrowest link are named.
Wires wires_of(const Machine&, Bytes of_bytes, const NcclSettings& = {},
               const Calibration& = default_calibration());

// The same with a backend on hosts instead of NCCL: gradients are copied to host memory, joined there, and
// copied back.
Wires backend_wires(const Machine&, Backend, Bytes of_bytes);

// NCCL's or a backend's, as the options say.
Wires wires_for(const Machine&, const StepOptions&, Bytes of_bytes);

// What bytes / link rate would say of the same machine: each rank's bytes over its narrowest link.
Wires alpha_beta_wires(const Machine&);

// Throws ConfigError when it can't be said how long computing takes there: no GPU, or one of which nothing is
// known and no step that was measured.
void check_computes(const Machine&, const StepOptions&);

// Throws ConfigError: the machine's GPUs do not have it, only these.
[[noreturn]] void refuse_precision(Precision, const Machine&, std::span<const Precision> has);

StepEstimate estimate_step(const Workload&, const Machine&, const StepOptions&, const StepModel& = {});

}  // namespace gradwire

// The step model on a whole Machine: which wires a step has there, by the NCCL model.
#pragma once

#include "predict/nccl/all_reduce.h"
#include "predict/step/step.h"
#include "topo/machine.h"

namespace gradwire {

// `of_bytes` is the gradient whose algorithm and narrowest link are named.
Wires wires_of(const Machine&, Bytes of_bytes, const NcclSettings& = {},
               const Calibration& = default_calibration());

// What bytes / link rate would say of the same machine: each rank's bytes over its narrowest link.
Wires alpha_beta_wires(const Machine&);

StepEstimate estimate_step(const Workload&, const Machine&, const StepOptions&, const StepModel& = {});

}  // namespace gradwire

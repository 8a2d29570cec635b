// The two parts of an all-reduce's time before calibration, and the classes whose measured corrections apply:
// a latency that does not depend on the size, and a rate that large buffers reach.
#pragma once

#include "predict/calibration/calibration.h"
#include "predict/nccl/fabric.h"

namespace gradwire {

struct NcclTerms {
  Seconds latency = 0;
  double bytes_per_s = 0;                         // of the buffer: bytes / time
  NcclAlgorithm algorithm = NcclAlgorithm::ring;  // that reaches it
};

NcclTerms nccl_terms(const NcclFabric&, const NcclSettings& = {});
CalibrationClasses nccl_classes(const NcclFabric&);

}  // namespace gradwire

// Which algorithm, protocol and how many channels NCCL's tuner picks for a size: its own cost tables, applied
// to the fabric. It tells users what to look for in NCCL's log; the time comes from terms and calibration.
#pragma once

#include "base/units.h"
#include "predict/nccl/fabric.h"

namespace gradwire {

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  int channels = 1;
};

NcclChoice nccl_choice(const NcclFabric&, const NcclSettings&, Bytes);

}  // namespace gradwire

// Which algorithm, protocol and how many channels NCCL's tuner picks for a size: its own cost tables, applied
// to the fabric. Its beliefs decide, whether they are right or not; price.h then says how long the choice takes.
#pragma once

#include "base/units.h"
#include "predict/nccl/fabric.h"

namespace gradwire {

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  int channels = 1;
};

NcclChoice nccl_choice(const NcclFabric&, Bytes);

// Thread blocks that a buffer of this size fills with that choice.
int nccl_channels(const NcclFabric&, const NcclChoice&, Bytes);

}  // namespace gradwire

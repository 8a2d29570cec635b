// Which algorithm, protocol and how many channels NCCL's tuner picks for a size: its own cost tables, applied
// to the fabric. Its beliefs decide, whether they are right or not; price.h then says how long the choice takes.
#pragma once

#include "base/collective.h"
#include "base/units.h"
#include "predict/nccl/fabric.h"

namespace gradwire {

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  int channels = 1;
};

// All but an all-reduce run in rings; `bytes` as in collective.h.
NcclChoice nccl_choice(const NcclFabric&, Bytes, Collective = Collective::all_reduce);

// Rounds of a ring: an all-reduce goes around twice, the others once.
constexpr int turns_of(Collective kind) { return kind == Collective::all_reduce ? 2 : 1; }

// Thread blocks that a buffer of this size fills with that choice.
int nccl_channels(const NcclFabric&, const NcclChoice&, Bytes);

}  // namespace gradwire

// A ring over the GPUs of one node, and what limits it. A ring runs at its slowest hop; a link that several
// hops cross in one direction is shared by them.
#pragma once

#include <string>
#include <vector>

#include "predict/nccl/fabric.h"

namespace gradwire {

struct NodeRing {
  NcclLink link = NcclLink::none;  // kind of the slowest hop
  double gbps = 0;                 // bus bandwidth
  std::string narrowest;
};

// `gpus` are the GPUs of one node that take part, in rank order.
NodeRing best_ring(const Machine&, const std::vector<DeviceId>& gpus, bool p2p_disabled);

// Whether NVLinks alone can join all of them in a ring.
bool has_nvlink_ring(const Machine&, const std::vector<DeviceId>& gpus);

}  // namespace gradwire

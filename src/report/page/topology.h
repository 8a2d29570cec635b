// A machine as a picture: devices, cables, and what an all-reduce does to them. Pure.
#pragma once

#include "predict/nccl/settings.h"
#include "report/page/page_data.h"
#include "topo/machine.h"

namespace gradwire {

constexpr int kMostHostsDrawn = 2;  // nodes are alike

// Loads are those of NCCL's all-reduce between all GPUs, as the predictor shares the links out; without them where
// something else joins the gradients, or there is but one GPU.
enum class Loads { of_nccl, none };
DrawnTopology drawn_topology(const Machine&, Loads, const NcclSettings& = {});

}  // namespace gradwire

// A machine as a Report: paths, the inside of a node, rates between its devices, what was assumed.
#pragma once

#include "predict/nccl/settings.h"
#include "report/report.h"
#include "report/topo/endpoints.h"
#include "topo/machine.h"

namespace gradwire {

// `settings`: what the user's environment tells NCCL.
Report machine_report(const Machine&, const NcclSettings& = {});
nlohmann::json machine_json(const Machine&, const Endpoints&, const std::vector<std::vector<EndpointPair>>&);
nlohmann::json rate_json(const Rate&);

}  // namespace gradwire

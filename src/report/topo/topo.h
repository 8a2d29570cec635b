// A machine as a Report: paths, the inside of a node, rates between its devices, what was assumed.
#pragma once

#include "report/report.h"
#include "report/topo/endpoints.h"
#include "topo/machine.h"

namespace gradwire {

Report machine_report(const Machine&);
nlohmann::json machine_json(const Machine&, const Endpoints&, const std::vector<std::vector<EndpointPair>>&);
nlohmann::json rate_json(const Rate&);

}  // namespace gradwire

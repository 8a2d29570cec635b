// The parts of a step as scripts read them: `breakdown_ms` of train and compare.
#pragma once

#include <nlohmann/json.hpp>

#include "trace/breakdown.h"

namespace gradwire {

nlohmann::json breakdown_json(const Breakdown& parts);  // in milliseconds

}  // namespace gradwire

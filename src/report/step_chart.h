// Where a step's time went: a bar of its parts and a table of them, for any Report; and the same for scripts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/report.h"
#include "trace/breakdown.h"

namespace gradwire {

void add_step(Report&, const std::string& title, const Breakdown& step);

nlohmann::json breakdown_json(
    const Breakdown& parts);  // in milliseconds: `breakdown_ms` of train and compare

}  // namespace gradwire

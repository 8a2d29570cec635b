// Where a step's time went: a bar of its parts and a table of them, for any Report; and the same for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/report.h"
#include "trace/breakdown.h"

namespace gradwire {

void add_step(Report&, const std::string& title, const Breakdown& step);

// The same of a step of which it is known how much of backward is `slowed` by the communication beside it: a part of its own.
// What hid is not said then: it was not for nothing.
void add_slowed_step(Report&, const std::string& title, const Breakdown& step, Seconds slowed);

nlohmann::json breakdown_json(
    const Breakdown& parts);  // in milliseconds: `breakdown_ms` of train and compare

}  // namespace gradwire

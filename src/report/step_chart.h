// Where a step's time went: a bar of its parts and a table of them, for any Report.
#pragma once

#include <string>

#include "report/report.h"
#include "trace/breakdown.h"

namespace gradwire {

void add_step(Report&, const std::string& title, const Breakdown& step);

}  // namespace gradwire

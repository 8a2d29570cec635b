// What the rules about traces share. For those rules alone.
#pragma once

#include <string>

#include "explain/case_file.h"

namespace gradwire {

constexpr double kWorthSaying = 0.02;  // of a step

Finding trace_finding(const char* rule, Severity severity, std::string evidence, Seconds cost);

// Rates of collectives: far below what the machine should give, or below what any network gives.
void add_link_findings(const CaseFile&, std::vector<Finding>& findings);

}  // namespace gradwire

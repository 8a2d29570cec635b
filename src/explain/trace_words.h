// What the rules about traces share. For those rules alone.
#pragma once

#include <string>

#include "explain/case_file.h"
#include "explain/landmarks.h"

namespace gradwire {

constexpr double kWorthSaying = 0.02;  // of a step

Finding trace_finding(const char* rule, Severity severity, std::string evidence, Seconds cost);
// The same, of a cost that is communication which nothing hides.
Finding communication_finding(const char* rule, Severity severity, std::string evidence, Seconds cost);

// Tracing makes operations longer. How long a step outside of the traced window is, as a share of one inside.
double untraced_share(const CaseFile&);
Seconds communication_cost(const CaseFile&);  // of a typical step

// What DistributedDataParallel said of itself, if the run was watched.
const DdpSettings* find_settings(const CaseFile&);

void add_bucket_findings(const CaseFile&, const LoopHabits&, std::vector<Finding>&);

// Rates of collectives: far below what the machine should give, or below what any network gives.
void add_link_findings(const CaseFile&, std::vector<Finding>& findings);

}  // namespace gradwire

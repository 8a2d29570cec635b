// A run that was analyzed, and a diagnosis.
#pragma once

#include <optional>

#include "explain/case_file.h"
#include "explain/what_if.h"
#include "report/report.h"
#include "watch/watch.h"

namespace gradwire {

Report analysis_report(const RunAnalysis&);
nlohmann::json analysis_json(const RunAnalysis&);
Report diagnosis_report(const Diagnosis&);
nlohmann::json diagnosis_json(const Diagnosis&);

// What NCCL ran, by its own record of it.
Report recorded_report(const RecordedCalls&);

Report what_if_report(const WhatIfs&);

// Of a run that left traces: where the time went, what NCCL ran, and what was asked of other links, if anything was. Of one that
// left none: who is behind, and what NCCL ran.
Report traces_report(const CaseFile&, const std::optional<WhatIfs>&);
Report records_report(const CaseFile&, const Diagnosis&);

// All of it, of a run that was watched: where its time went, what is wrong, what else it could be, what watching cost.
Report watch_report(const WatchedRun&, const CaseFile&, const Diagnosis&, const WhatIfs&);

}  // namespace gradwire

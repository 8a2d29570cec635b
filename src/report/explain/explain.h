// A run that was analyzed, and a diagnosis.
#pragma once

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

// All of it, of a run that was watched: where its time went, what is wrong, what else it could be, what watching cost.
Report watch_report(const WatchedRun&, const CaseFile&, const Diagnosis&, const WhatIfs&);

}  // namespace gradwire

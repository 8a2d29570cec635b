// A run that was analyzed, and a diagnosis.
#pragma once

#include "explain/case_file.h"
#include "report/report.h"

namespace gradwire {

Report analysis_report(const RunAnalysis&);
nlohmann::json analysis_json(const RunAnalysis&);
Report diagnosis_report(const Diagnosis&);

}  // namespace gradwire

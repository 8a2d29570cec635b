// A run that was analyzed, for people and for programs. Values in, text and JSON out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "explain/analysis.h"

namespace gradwire {

std::string analysis_text(const RunAnalysis&);
nlohmann::json analysis_json(const RunAnalysis&);

}  // namespace gradwire

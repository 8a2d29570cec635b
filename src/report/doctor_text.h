// A diagnosis, for people and for programs. Values in, text and JSON out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "explain/case_file.h"

namespace gradwire {

std::string diagnosis_text(const Diagnosis&);
nlohmann::json diagnosis_json(const Diagnosis&);

}  // namespace gradwire

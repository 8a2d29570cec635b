// A machine as people and programs read it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "topo/machine.h"

namespace gradwire {

std::string machine_text(const Machine&);  // heading, matrix, picture, GB/s, what was assumed; 80 columns
nlohmann::json machine_json(const Machine&);
nlohmann::json rate_json(const Rate&);

}  // namespace gradwire

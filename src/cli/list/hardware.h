// The lists of presets/: GPUs, links and processors, networks, machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gradwire {

std::string gpus_text();
std::string links_text();
std::string networks_text();
std::string machines_text();

nlohmann::json gpus_json();
nlohmann::json links_json();
nlohmann::json networks_json();
nlohmann::json machines_json();

}  // namespace gradwire

// The built-in models.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gradwire {

std::string models_text();
nlohmann::json models_json();

}  // namespace gradwire

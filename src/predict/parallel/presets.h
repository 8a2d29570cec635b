// Files of presets/ that this part of the predictor rests on, compiled in.
#pragma once

#include <string_view>

namespace gradwire {

std::string_view parallel_preset_text(std::string_view name);  // "parallel.yaml"

}  // namespace gradwire

// The files of presets/ that the step model rests on, compiled in.
#pragma once

#include <string_view>

namespace gradwire {

std::string_view step_preset_text(
    std::string_view file);  // "step.yaml"; throws Error if there is no such file

}  // namespace gradwire

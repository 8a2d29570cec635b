// The files of presets/, compiled in, so that the program works wherever it is.
#pragma once

#include <string_view>

namespace gradwire {

std::string_view preset_text(std::string_view file);  // "gpus.yaml"; throws Error if there is no such file

}  // namespace gradwire

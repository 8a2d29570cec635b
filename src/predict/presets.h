// The files of presets/ that predictions rest on, compiled in.
#pragma once

#include <string_view>

namespace gradwire {

// "nccl.yaml", "collectives.jsonl"; throws Error if there is no such file.
std::string_view predict_preset_text(std::string_view file);

}  // namespace gradwire

// The files of presets/ that predictions rest on, compiled in.
#pragma once

#include <string_view>

namespace gradwire {

// Those of each part. Throw Error if there is no such file.
std::string_view workload_preset_text(std::string_view file);  // "models.yaml"
std::string_view predict_preset_text(std::string_view file);   // "nccl.yaml", "collectives.jsonl"
std::string_view step_preset_text(std::string_view file);      // "step.yaml"
std::string_view parallel_preset_text(std::string_view file);  // "parallel.yaml"

}  // namespace gradwire

// How AMD's GPUs are joined, as `rocm-smi --showtopo` and `amd-smi topology` print it. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace gradwire {

struct LinkTypes {
  std::string file;
  int gpus = 0;
  int xgmi = 0, pcie = 0;  // pairs of GPUs
};

bool looks_like_link_types(std::string_view text);

// Throws ConfigError where rows are missing or not as long as others.
LinkTypes parse_link_types(std::string_view text, const std::string& name);

}  // namespace gradwire

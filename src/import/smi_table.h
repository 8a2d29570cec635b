// What `nvidia-smi` prints when nobody asks for more: its GPUs, and which process has how much memory on which. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct GpuProcess {
  int gpu = 0;
  long process = 0;
  int mebibytes = 0;
  int line = 0;
};

struct SmiTable {
  std::string file;
  int gpus = 0;
  std::vector<GpuProcess> processes;  // that compute; what draws on a screen is left out
};

bool looks_like_smi_table(std::string_view text);
SmiTable parse_smi_table(std::string_view text, const std::string& name);

}  // namespace gradwire

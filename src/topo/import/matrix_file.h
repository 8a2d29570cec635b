// A node from a saved `nvidia-smi topo -m`, which does not say which GPU it is about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topo/node_spec.h"

namespace gradwire {

struct MatrixNode {
  NodeSpec node;
  std::vector<std::string> notes;  // what was guessed, and what the report itself has wrong
};

// The GPU is `gpu` if given, else one the text names (as `nvidia-smi -L` does), else guessed from the
// NVLinks.
MatrixNode node_from_matrix(std::string_view text, const std::string& where, std::string_view gpu);

std::string guess_gpu(const TopoMatrix&);  // an id, or empty

}  // namespace gradwire

// Machines from files: written down in YAML (presets/machines.yaml, and a user's own in the same form; docs/machines.md
// describes the fields), or saved as `nvidia-smi topo -m`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topo/machine.h"
#include "topo/node_spec.h"

namespace gradwire {

// A file holds `machines: [...]` or one machine; with `gpus: [...]` it may describe GPUs of its own, in the
// form of presets/gpus.yaml. Throws ConfigError naming `where`, line and key.
std::vector<MachinePreset> parse_machines(std::string_view yaml, std::string_view where);

// Whether a line says `gpu:` or `matrix:` as such a file does. One with a matrix in it looks like a saved matrix too.
bool looks_like_machine_file(std::string_view text);

// A node from a saved `nvidia-smi topo -m`, which does not say which GPU it is about.
struct MatrixNode {
  NodeSpec node;
  std::vector<std::string> notes;  // what was guessed, and what the report itself has wrong
};

// The GPU is `gpu` if given, else one the text names (as `nvidia-smi -L` does), else guessed from the
// NVLinks.
MatrixNode node_from_matrix(std::string_view text, const std::string& where, std::string_view gpu);

std::string guess_gpu(const TopoMatrix&);  // an id, or empty

}  // namespace gradwire

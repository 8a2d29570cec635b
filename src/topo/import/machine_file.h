// Machines written down in YAML: presets/machines.yaml, and a user's own files in the same form.
// docs/machines.md describes the fields.
#pragma once

#include <string_view>
#include <vector>

#include "topo/machine.h"

namespace gradwire {

// A file holds `machines: [...]` or one machine; with `gpus: [...]` it may describe GPUs of its own, in the
// form of presets/gpus.yaml. Throws ConfigError naming `where`, line and key.
std::vector<MachinePreset> parse_machines(std::string_view yaml, std::string_view where);

}  // namespace gradwire

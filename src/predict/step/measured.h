// Wires that were measured instead of modelled: what `gradwire bench --json` wrote of collectives stands for
// the machine. Its ranks compute on the processor that also moves the bytes, so a collective under backward
// takes from it what it needs.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "predict/step/wires.h"
#include "sim/sweep.h"

namespace gradwire {

// Whether a name of a machine means a file of measured collectives.
bool is_sweep(std::string_view on);

// The all_reduce of `backend` (any, when empty) with `ranks` (any, when absent) in such a file. Throws
// ConfigError that names the file and lists what is there when that is not one.
Sweep read_sweep(const std::filesystem::path& file, std::string_view backend, std::optional<int> ranks);

Wires measured_wires(const Sweep& sweep);

}  // namespace gradwire

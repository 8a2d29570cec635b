// A step between processes whose collectives were measured instead of modelled: what `gradwire bench --json`
// wrote stands for the machine. Such processes compute on the cores that also move the bytes, so a collective
// under backward takes from it what it needs of the processor.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "predict/step/step.h"
#include "sim/sweep.h"

namespace gradwire {

// What collectives of a backend take. `processor` is a sweep of the same backend over links that hold nothing
// up, where all of the time is processor time; without one, so is all of the time here.
Wires measured_wires(const Sweep& sweep, const Sweep* processor = nullptr);

// One core as a device: what the parts of a step that no measurement gives are estimated with.
Gpu one_core();

// The only backend's all_reduce in such a file, or that of `backend`. Throws ConfigError naming the file.
Sweep read_sweep(const std::filesystem::path& file, std::string_view backend);

// Whether a name of a machine means a file of measured collectives.
bool is_sweep(std::string_view on);

}  // namespace gradwire

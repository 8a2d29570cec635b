// The options of a training step on the command line, shared by `compare`, `page` and `train --on`.
#pragma once

#include <CLI/CLI.hpp>

#include "predict/step/options.h"

namespace gradwire {

// What the environment tells NCCL is one of them.
void add_step_flags(CLI::App& verb, StepFlags&);

}  // namespace gradwire

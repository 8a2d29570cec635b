// Starts the ranks of `gradwire train`, which are processes of gradwire-train, by whoever can: our launcher,
// mpirun for the backends that MPI carries, or, where mpirun has started this program itself, this process as
// one of them.
#pragma once

#include <string>

#include "launch/launcher.h"
#include "train/job/options.h"

namespace gradwire {

// `launch` says all but the command; `trainer` is the program. Returns the exit code of `gradwire train`.
// Throws ConfigError.
int start_ranks(LaunchOptions launch, const std::string& trainer, const TrainOptions& train);

}  // namespace gradwire

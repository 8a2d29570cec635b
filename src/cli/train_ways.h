// The ways in which `gradwire train` goes about it: ranks that train, or a step on a model of a machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "launch/launcher.h"
#include "train/job/options.h"

namespace gradwire {

// `gradwire train MODEL --on MACHINE`: the same step on a model of a machine, said and recorded as a real run
// is. Or on this machine's own processors with wires that were measured: `gradwire train TRACE --on
// BENCH.json`.
struct TrainOnOptions {
  std::string model, on;
  std::string backend;       // of measured wires; empty: the only one
  std::optional<int> ranks;  // of them, or of the machine's GPUs; absent: all
  StepFlags step;
  std::optional<TrainOptions> split;  // flags say how it is cut, or that it is not; of it the sizes are read
  std::vector<std::string> measured;  // files of what was measured on that machine
  std::string real;                   // a trace of the same run, taken for real; empty: none
  std::string trace;                  // a file for the simulated timeline; empty: none
  std::string html;                   // a file for the page; empty: none
  bool json = false;
};

// Prints the result and returns the exit code. Throws ConfigError.
int train_on_machine(const TrainOnOptions&);

// Starts the ranks of `gradwire train`, which are processes of gradwire-train, by whoever can: our launcher,
// mpirun for the backends that MPI carries, or, where mpirun has started this program itself, this process as
// one of them. `launch` says all but the command; `trainer` is the program. Returns the exit code of `gradwire train`.
// Throws ConfigError.
int start_ranks(LaunchOptions launch, const std::string& trainer, const TrainOptions& train);

// A process that mpirun started for our launcher, as the hidden `gradwire train-rank`: ends with mpirun from here on, and
// becomes `command`. That one could see to it only when it has loaded libtorch, which takes seconds on a busy machine.
// Throws ConfigError.
[[noreturn]] void become_rank_of_mpirun(const std::vector<std::string>& command);

}  // namespace gradwire

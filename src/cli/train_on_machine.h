// `gradwire train MODEL --on MACHINE`: the same step on a model of a machine, said and recorded as a real run
// is. Or on this machine's own processors with wires that were measured: `gradwire train TRACE --on
// BENCH.json`.
#pragma once

#include <optional>
#include <string>

#include "cli/step_flags.h"

namespace gradwire {

struct TrainOnOptions {
  std::string model, on;
  std::string backend;       // of measured wires; empty: the only one
  std::optional<int> ranks;  // of them, or of the machine's GPUs; absent: all
  StepFlags step;
  std::vector<std::string> measured;  // files of what was measured on that machine
  std::string trace;                  // a file for the simulated timeline; empty: none
  std::string html;                   // a file for the page; empty: none
  bool json = false;
};

// Prints the result and returns the exit code. Throws ConfigError.
int train_on_machine(const TrainOnOptions&);

}  // namespace gradwire

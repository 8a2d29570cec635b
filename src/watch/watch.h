// Runs a training command as it is, and leaves in a folder what it can be explained by. The program's input, output, exit
// code and signals are its own. One thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/units.h"
#include "watch/plan.h"

namespace gradwire {

struct WatchOptions {
  std::vector<std::string> command;
  std::filesystem::path folder;  // made if it is not there
  WatchWindow window;
  bool output_to_error = false;  // what it writes to standard output goes to standard error
};

struct WatchedRun {
  int exit_code = 0;  // the program's, as a shell says it
  std::string end;    // "ended well", "exited with 1", "was killed by SIGTERM"
  Seconds took = 0;
  std::vector<std::string> left_alone;
};

// Throws ConfigError where the folder can't be made or the program can't be started.
WatchedRun watch(const WatchOptions& options, const Environment& users);

}  // namespace gradwire

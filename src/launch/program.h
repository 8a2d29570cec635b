// Starts programs: what is run, in which environment, and where its output goes. See child_process.h for who
// owns what is started.
#pragma once

#include <string>
#include <vector>

#include "launch/child_process.h"
#include "net/rendezvous/environment.h"

namespace gradwire {

struct Program {
  std::vector<std::string> command;  // the program, found through PATH, and its arguments
  Environment environment;           // all of it
  int output = -1, error = -1;       // descriptors to become its stdout and stderr; -1: those of this process
};

// Its input is empty, and no signal is blocked in it. Any number of threads may be running here. Throws
// ConfigError naming the program and the reason when it can't be started.
ChildProcess start(const Program& program);

}  // namespace gradwire

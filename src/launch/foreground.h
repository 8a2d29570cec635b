// Runs a program as if it were started by hand in this process's place: it has this process's input, output, session and
// process group, so a terminal talks to it, and signals sent to this process are passed on to it. One thread.
#pragma once

#include <string>
#include <vector>

#include "net/rendezvous/environment.h"

namespace gradwire {

struct ForegroundProgram {
  std::vector<std::string> command;  // the program, found through PATH, and its arguments
  Environment environment;           // all of it
  bool output_to_error = false;      // what it writes to standard output goes to standard error
};

// As waitpid() gives it. What a terminal sends to the whole group (Ctrl-C) the program gets once, from the terminal.
// Throws ConfigError naming the program and the reason when it can't be started.
int run_in_foreground(const ForegroundProgram& program);

}  // namespace gradwire

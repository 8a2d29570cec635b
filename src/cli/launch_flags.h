// The flags of every verb that starts ranks: how many, on which nodes, how they meet. Turned into the
// launcher's options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "launch/launcher.h"

namespace gradwire {

struct LaunchFlags {
  int ranks = 1, node = 0, max_restarts = 0;
  std::string nodes = "1";  // or a range, "1:4"
  std::string master, secret_file, interface, log_dir, timeout, grace;
  bool trust_network = false;
};

// `program` is what each node runs: "gradwire run".
void add_launch_flags(CLI::App& verb, LaunchFlags& flags, const std::string& program);

// Without a command. Throws ConfigError.
LaunchOptions launch_options(const LaunchFlags& flags);

}  // namespace gradwire

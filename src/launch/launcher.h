// Starts a program as the ranks of a job and sees it to its end: on this node alone or together with the
// launchers of other nodes, once or again after a failure. What `gradwire run` does.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/council.h"
#include "launch/rank_group.h"
#include "net/rendezvous/environment.h"

namespace gradwire {

struct LaunchOptions {
  std::vector<std::string> command;
  int ranks = 1;  // on this node
  int nodes = 1, node = 0;
  int least_nodes = 0;                  // an attempt begins with so many; 0: with all
  std::optional<HostPort> master = {};  // where node 0 listens; needed with several nodes
  std::string secret = {};              // the same on all nodes; made up when empty
  std::string interface = {};           // where the ranks listen
  int max_restarts = 0;
  std::vector<int> final_codes = {};  // exit codes of ranks after which a restart would be in vain
  Seconds timeout = 300;              // of the ranks' waits, and for the other nodes to come
  GroupOptions group = {};
  std::string name = "gradwire run";  // who speaks on stderr
  // The only program where it starts the ranks itself: what to call it ("mpirun"), how many it starts, and the variable
  // that holds the number of each.
  std::string sole_program = {};
  int ranks_within = 0;
  std::string rank_variable = {};
  bool ranks_leave = false;  // one that ends well has left the world with all others: the work of all is done
  Environment environment = process_environment();  // what the ranks' environments are made of
};

// Returns 0, or the exit code of the rank that failed first anywhere, 128 and the number for a signal; says
// on stderr which rank failed how. SIGINT, SIGTERM and SIGHUP are passed on to the ranks, also to those that
// are stopped; what still runs when the grace time is over is killed, at once by a second signal. SIGUSR1 and
// SIGUSR2 are passed on as they are. Where the other nodes are enough by `least_nodes`, one that is told to end leaves, and they
// go on with the next attempt. Throws ConfigError, and TransportError when the other nodes are out of reach:
// at once, or, where there may be another attempt (before the first: by `max_restarts`), when they stay so for the timeout.
int launch(const LaunchOptions& options);

bool is_final(const LaunchOptions& options, int exit_code);

// The environment of one of this node's ranks.
Environment rank_environment(const LaunchOptions& options, const Seating& seating, int local_rank);

}  // namespace gradwire

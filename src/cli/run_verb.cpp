#include "cli/run_verb.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/secret.h"
#include "base/units.h"
#include "launch/launcher.h"
#include "net/address_interface.h"
#include "net/rendezvous_secret.h"

namespace gradwire {
namespace {

constexpr const char* kExample = R"(
Each rank finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment, as
under torchrun, and a share of the cores in OMP_NUM_THREADS and OPENBLAS_NUM_THREADS unless you set them. Its lines
come out behind [rank]. When a rank fails the others are ended; the exit code is that of the first that failed.
Ctrl-C is passed on to the ranks; pressed twice it kills them.

Examples:
  gradwire run -n 2 -- ./train --epochs 3
  gradwire run -n 4 --log-dir logs --max-restarts 3 -- python3 train.py
  gradwire run -n 8 --nnodes 2 --node-rank 0 --master node1:29500 --secret-file ~/job.secret -- ./train
)";

struct Flags {
  std::vector<std::string> command;
  int ranks = 1, nodes = 1, node = 0, max_restarts = 0;
  std::string master, secret_file, interface, log_dir, timeout, grace = "10s";
};

// Several nodes can't agree on a secret that one of them makes up.
std::string secret_of(const Flags& flags, const Environment& environment) {
  if (!flags.secret_file.empty()) {
    const auto secret = read_private_file(flags.secret_file);
    check_secret(secret, flags.secret_file);
    return secret;
  }
  const auto secret = find_variable(environment, "GRADWIRE_SECRET").value_or("");
  if (!secret.empty()) check_secret(secret, "GRADWIRE_SECRET");
  if (flags.nodes > 1 && secret.empty())
    throw ConfigError(
        fmt::format("several nodes need a secret they share: write on each of them\n  export "
                    "GRADWIRE_SECRET={}\nor put it "
                    "into a file and name that with --secret-file",
                    make_secret()));
  return secret;
}

void check_numbers(const Flags& flags) {
  if (flags.ranks < 1) throw ConfigError(fmt::format("-n {}: write 1 or more ranks", flags.ranks));
  if (flags.nodes < 1) throw ConfigError(fmt::format("--nnodes {}: write 1 or more", flags.nodes));
  if (flags.node < 0 || flags.node >= flags.nodes)
    throw ConfigError(fmt::format("--node-rank {} contradicts --nnodes {}: write 0 to {}", flags.node,
                                  flags.nodes, flags.nodes - 1));
  if (flags.max_restarts < 0)
    throw ConfigError(fmt::format("--max-restarts {}: write 0 or more", flags.max_restarts));
  if (flags.nodes > 1 && flags.master.empty())
    throw ConfigError("--nnodes needs --master HOST:PORT, a place on node 0 that all nodes reach");
}

LaunchOptions launch_options(const Flags& flags) {
  check_numbers(flags);
  LaunchOptions options;
  options.command = flags.command;
  options.ranks = flags.ranks;
  options.nodes = flags.nodes;
  options.node = flags.node;
  options.max_restarts = flags.max_restarts;
  options.interface = flags.interface;
  options.secret = secret_of(flags, options.environment);
  options.timeout = flags.timeout.empty() ? read_timeout(options.environment) : parse_seconds(flags.timeout);
  options.group.grace = parse_seconds(flags.grace);
  options.group.log_dir = flags.log_dir;
  if (!flags.log_dir.empty()) options.group.output = GroupOptions::Output::files;
  if (!flags.master.empty()) options.master = parse_host_port(flags.master);
  if (!flags.interface.empty()) choose_address(flags.interface);  // better now than in every rank
  return options;
}

}  // namespace

void add_run_verb(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("run", "start a program as ranks, restart it when it fails");
  auto flags = std::make_shared<Flags>();
  verb->add_option("-n,--ranks", flags->ranks, "ranks on this node")->capture_default_str();
  verb->add_option("--nnodes", flags->nodes, "nodes, each with a `gradwire run` of its own")
      ->capture_default_str();
  verb->add_option("--node-rank", flags->node, "which of them this is; node 0 hosts the store")
      ->capture_default_str();
  verb->add_option("--master", flags->master, "HOST:PORT on node 0 that all nodes reach");
  verb->add_option("--secret-file", flags->secret_file,
                   "holds the nodes' common secret (or GRADWIRE_SECRET)");
  verb->add_option("--interface", flags->interface, "where ranks listen: a name, an address or a CIDR");
  verb->add_option("--log-dir", flags->log_dir, "write each rank's output to rank-N.log in this directory");
  verb->add_option("--max-restarts", flags->max_restarts, "start anew after a failure, so many times")
      ->capture_default_str();
  verb->add_option("--timeout", flags->timeout, "of ranks' waits, and for other nodes: 30, 2.5s, 5m [300s]");
  verb->add_option("--grace", flags->grace, "from SIGTERM to SIGKILL when ranks are ended")
      ->capture_default_str();
  verb->add_option("program", flags->command, "what to run, and its arguments")->required();
  verb->footer(kExample);
  verb->callback([flags, &exit_code] { exit_code = launch(launch_options(*flags)); });
}

}  // namespace gradwire

#include "cli/flags.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/units.h"
#include "net/address/interface.h"
#include "net/rendezvous/secret.h"

namespace gradwire {
namespace {

constexpr int kMostRanks = 4096;  // of a node: more are a slip of the finger, and each is a process
constexpr int kMostNodes = 65536;

struct NodeRange {
  int least = 1, most = 1;
};

NodeRange read_nodes(const std::string& text) {
  const auto colon = text.find(':');
  const auto least = find_integer<int>(text.substr(0, colon));
  const auto most = colon == std::string::npos ? least : find_integer<int>(text.substr(colon + 1));
  if (!least || !most || *least < 1 || *most < *least || *most > kMostNodes)
    throw ConfigError(fmt::format(
        "--nnodes '{:.40}': write how many nodes there are, as 4, or least and most, as 1:4", text));
  return {*least, *most};
}

// Several nodes can't agree on a secret that one of them makes up.
std::string secret_of(const LaunchFlags& flags, const Environment& environment) {
  if (!flags.secret_file.empty()) {
    const auto secret = read_private_file(flags.secret_file);
    check_secret(secret, flags.secret_file);
    return secret;
  }
  const auto secret = find_variable(environment, "GRADWIRE_SECRET").value_or("");
  if (!secret.empty()) check_secret(secret, "GRADWIRE_SECRET");
  if (read_nodes(flags.nodes).most > 1 && secret.empty())
    throw ConfigError(
        fmt::format("several nodes need a secret they share: on each of them write `export "
                    "GRADWIRE_SECRET={}`, or put one into a file and name that with --secret-file",
                    make_secret()));
  return secret;
}

void check_numbers(const LaunchFlags& flags) {
  if (flags.ranks < 1 || flags.ranks > kMostRanks)
    throw ConfigError(fmt::format("-n {}: write 1 to {} ranks", flags.ranks, kMostRanks));
  const int nodes = read_nodes(flags.nodes).most;
  if (flags.node < 0 || flags.node >= nodes)
    throw ConfigError(fmt::format("--node-rank {} contradicts --nnodes {}: write 0 to {}", flags.node,
                                  flags.nodes, nodes - 1));
  if (flags.max_restarts < 0)
    throw ConfigError(fmt::format("--max-restarts {}: write 0 or more", flags.max_restarts));
  if (nodes > 1 && flags.master.empty())
    throw ConfigError("--nnodes needs --master HOST:PORT, a place on node 0 that all nodes reach");
}

}  // namespace

void add_launch_flags(CLI::App& verb, LaunchFlags& flags, const std::string& program) {
  verb.add_option("-n,--ranks", flags.ranks, "ranks on this node")->capture_default_str();
  verb.add_option(
          "--nnodes", flags.nodes,
          fmt::format("nodes, each with a `{}` of its own; 1:4: as many as come, at a restart too", program))
      ->capture_default_str();
  verb.add_option("--node-rank", flags.node, "which of them this is; node 0 hosts the store")
      ->capture_default_str();
  verb.add_option("--master", flags.master, "HOST:PORT on node 0 that all nodes reach");
  verb.add_option("--secret-file", flags.secret_file, "holds the nodes' common secret (or GRADWIRE_SECRET)");
  verb.add_option("--interface", flags.interface, "where ranks listen: a name, an address or a CIDR");
  verb.add_flag("--trust-network", flags.trust_network,
                "let gloo, which proves nothing, listen beyond loopback");
  verb.add_option("--log-dir", flags.log_dir, "write each rank's output to rank-N.log in this directory");
  verb.add_option("--max-restarts", flags.max_restarts, "start anew after a failure, so many times")
      ->capture_default_str();
  verb.add_option("--timeout", flags.timeout, "of ranks' waits, and for other nodes: 30, 2.5s, 5m [300s]");
  verb.add_option("--grace", flags.grace,
                  "from SIGTERM to SIGKILL when ranks are ended [10s; 60s after Ctrl-C or SIGTERM]");
}

LaunchOptions launch_options(const LaunchFlags& flags) {
  check_numbers(flags);
  LaunchOptions options;
  options.ranks = flags.ranks;
  const auto [least, most] = read_nodes(flags.nodes);
  options.nodes = most;
  options.least_nodes = least == most ? 0 : least;
  options.node = flags.node;
  options.max_restarts = flags.max_restarts;
  options.interface = flags.interface;
  if (flags.trust_network) options.environment["GRADWIRE_TRUST_NETWORK"] = "1";
  options.secret = secret_of(flags, options.environment);
  options.timeout = flags.timeout.empty() ? read_timeout(options.environment) : parse_seconds(flags.timeout);
  if (!flags.grace.empty()) options.group.grace = options.group.interrupt_grace = parse_seconds(flags.grace);
  options.group.log_dir = flags.log_dir;
  if (!flags.log_dir.empty()) options.group.output = GroupOptions::Output::files;
  if (!flags.master.empty()) options.master = parse_host_port(flags.master);
  if (!flags.interface.empty()) choose_address(flags.interface);  // better now than in every rank
  return options;
}

}  // namespace gradwire

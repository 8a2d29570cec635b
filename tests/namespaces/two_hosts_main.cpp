// two_hosts [--gbit 1] [--] command...: runs a command on both of two hosts made of network namespaces. Ends with 77 where
// the machine does not permit that.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "namespaces/two_hosts.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Runs a command on both of two hosts made of network namespaces, joined by a cable. The command sees "
      "HOST (0 or 1), ADDRESS and MASTER_ADDR.\nExample: two_hosts --gbit 1 -- sh -c 'echo $HOST "
      "$ADDRESS'");
  double gbit_per_s = 0;
  std::vector<std::string> command;
  app.add_option("--gbit", gbit_per_s, "the cable's speed in each direction, in Gbit/s")
      ->check(CLI::PositiveNumber);
  app.add_option("command", command, "what to run")->required();
  app.positionals_at_end();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const auto obstacle = gradwire::TwoHosts::find_obstacle()) {
    std::fprintf(stderr, "two_hosts: SKIPPED, %s\n", obstacle->c_str());
    return 77;
  }
  return gradwire::TwoHosts(gbit_per_s).run_on_both(command);
}

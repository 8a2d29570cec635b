// two_hosts [--rate 1gbit] [--] command...: runs a command on both of two hosts made of network namespaces.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "namespaces/two_hosts.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Runs a command on both of two hosts made of network namespaces, joined by a cable. The command sees "
      "HOST (0 or 1), ADDRESS and MASTER_ADDR.\nExample: two_hosts --rate 1gbit -- sh -c 'echo $HOST "
      "$ADDRESS'");
  std::string rate;
  std::vector<std::string> command;
  app.add_option("--rate", rate, "the cable's speed in each direction, as tc takes it");
  app.add_option("command", command, "what to run")->required();
  app.positionals_at_end();
  CLI11_PARSE(app, argc, argv);
  if (const auto obstacle = gradwire::TwoHosts::find_obstacle()) {
    std::fprintf(stderr, "two_hosts: %s\n", obstacle->c_str());
    return 2;
  }
  return gradwire::TwoHosts(rate).run_on_both(command);
}

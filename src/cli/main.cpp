// The gradwire command: each verb is a file or folder of its own. Only here are errors turned into exit
// codes: 0 success, 1 the job failed, 2 bad usage or bad input.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/bench/bench_verb.h"
#include "cli/compare/compare_verb.h"
#include "cli/list/list_verb.h"
#include "cli/run_verb.h"
#include "cli/topo/topo_verb.h"
#include "cli/train/train_verb.h"
#include "cli/validate/validate_verb.h"

namespace {

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const int code = app.exit(error);  // prints help for --help, one line otherwise
  return code == 0 ? 0 : 2;
}

// CLI11 takes a misspelt verb for a missing one.
void check_verb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_name() == argv[1]) return;
    if (!verb->get_group().empty()) verbs.push_back(verb->get_name());
  }
  throw gradwire::ConfigError(fmt::format("'{}' is not a verb: there are {}; see gradwire --help", argv[1],
                                          gradwire::join(verbs, ", ")));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("gradwire: does a faster link make my DistributedDataParallel training faster?");
  app.name("gradwire");
  app.set_version_flag("--version", GRADWIRE_VERSION);
  app.require_subcommand(1);
  app.footer("Each verb has --help with an example.");
  int exit_code = 0;
  gradwire::add_bench_verb(app, exit_code);
  gradwire::add_run_verb(app, exit_code);
  gradwire::add_train_verb(app, exit_code);
  gradwire::add_topo_verb(app, exit_code);
  gradwire::add_list_verb(app, exit_code);
  gradwire::add_compare_verb(app, exit_code);
  gradwire::add_validate_verb(app, exit_code);
  try {
    check_verb(app, argc, argv);
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  } catch (const gradwire::ConfigError& error) {
    fmt::print(stderr, "gradwire: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "gradwire: {}\n", error.what());
    return 1;
  }
}

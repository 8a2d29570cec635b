// The gradwire command: each verb is a file or folder of its own. Only here are errors turned into exit
// codes: 0 success, 1 the job failed, 2 bad usage or bad input.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/say.h"
#include "base/version.h"
#include "cli/help.h"
#include "cli/usage.h"
#include "cli/verbs.h"

namespace {

constexpr const char* kExamples = R"(Each verb has --help with examples. Two to begin with:
  gradwire compare gpt2 --on 2x-titan-rtx-nvlink --on 2x-titan-rtx-pcie
  gradwire bench all_reduce -n 2 --backend shm,tcp
)";

void add_verbs(CLI::App& app, int& exit_code) {
  gradwire::add_compare_verb(app, exit_code);
  gradwire::add_analyze_verb(app, exit_code);
  gradwire::add_doctor_verb(app, exit_code);
  gradwire::add_watch_verb(app, exit_code);
  gradwire::add_train_verb(app, exit_code);
  gradwire::add_bench_verb(app, exit_code);
  gradwire::add_plan_verb(app, exit_code);
  gradwire::add_page_verb(app, exit_code);
  gradwire::add_run_verb(app, exit_code);
  gradwire::add_topo_verb(app, exit_code);
  gradwire::add_list_verb(app, exit_code);
  gradwire::add_validate_verb(app, exit_code);
  gradwire::add_describe_verb(app, exit_code);
  for (CLI::App* verb : app.get_subcommands([](const CLI::App* v) { return !v->get_group().empty(); }))
    verb->group("Verbs");
}

// One line; `who` is "gradwire" or "gradwire compare".
int complain(const std::string& who, const std::string& what, int code) {
  gradwire::say(who, what);
  return code;
}

// What stands in the buffer may find no room on the disk when it is written.
int finish(int code) {
  if (std::fflush(stdout) == 0) return code;
  return complain("gradwire", fmt::format("the output could not be written: {}", std::strerror(errno)), 1);
}

int run(CLI::App& app, const gradwire::Words& words, std::string& who, int& exit_code) {
  const CLI::App* verb = gradwire::find_verb(app, words);
  if (verb != nullptr) who += " " + verb->get_name();
  gradwire::Words checked = gradwire::checked_words(app, verb, words);
  std::reverse(checked.begin(), checked.end());  // as CLI11 takes them
  try {
    app.parse(checked);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    return complain(who, gradwire::usage_message(app, verb, error), 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  gradwire::fill_standard_descriptors();
  CLI::App app("gradwire: does a faster link make my DistributedDataParallel training faster?");
  app.name("gradwire");
  app.set_version_flag("--version", std::string(gradwire::version()));
  app.require_subcommand(1);
  app.formatter(std::make_shared<gradwire::HelpFormatter>());
  app.footer(kExamples);
  int exit_code = 0;
  add_verbs(app, exit_code);
  std::string who = "gradwire";
  try {
    if (argc < 2) fmt::print("{}", app.help());
    return finish(argc < 2 ? 0 : run(app, gradwire::asked({argv + 1, argv + argc}), who, exit_code));
  } catch (const gradwire::ConfigError& error) {
    return complain(who, error.what(), 2);
  } catch (const std::filesystem::filesystem_error& error) {
    return complain(who, fmt::format("{}: {}", error.path1().string(), error.code().message()), 1);
  } catch (const std::bad_alloc&) {
    return complain(who, "there is not enough memory for this", 1);
  } catch (const std::exception& error) {
    return complain(who, error.what(), 1);
  }
}

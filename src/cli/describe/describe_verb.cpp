#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "base/version.h"
#include "cli/describe/words.h"
#include "cli/verbs.h"

namespace gradwire {
namespace {

void write_description(const std::filesystem::path& folder, const ProgramWords& program) {
  std::filesystem::create_directories(folder / "man");
  write_file(folder / "gradwire.bash", bash_completion(program));
  write_file(folder / "_gradwire", zsh_completion(program));
  write_file(folder / "gradwire.fish", fish_completion(program));
  write_file(folder / "man/gradwire.1", man_page(program, std::string(version())));
  for (const VerbWords& verb : program.verbs)
    write_file(folder / "man" / ("gradwire-" + verb.name + ".1"),
               man_page(verb, program, std::string(version())));
}

}  // namespace

void add_describe_verb(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("describe", "shell completions and manual pages")->group("");
  auto folder = std::make_shared<std::string>();
  verb->add_option("folder", *folder, "where to write them")->required();
  verb->callback([&app, folder, &exit_code] {
    write_description(*folder, words_of(app));
    exit_code = 0;
  });
}

}  // namespace gradwire

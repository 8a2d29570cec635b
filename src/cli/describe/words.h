// The words of the command line as plain values: what shell completions and manual pages are made of. Read from the verbs
// themselves, so that neither can fall behind them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gradwire {

struct FlagWords {
  std::vector<std::string> names;   // "-n", "--ranks"; of an argument without a dash its one name
  std::string what;                 // one line
  std::string value;                // what a value is called, "INT"; empty: it takes none
  std::vector<std::string> values;  // those to choose from; empty: any
  bool repeats = false;
};

struct VerbWords {
  std::string name;  // empty: the program itself
  std::string what, notes;
  std::vector<FlagWords> flags, arguments;
};

struct ProgramWords {
  VerbWords own;
  std::vector<VerbWords> verbs;  // without those that are hidden
};

ProgramWords words_of(const CLI::App& app);

// What shells read to complete a command line of gradwire. Text out of values.
std::string bash_completion(const ProgramWords& program);  // for share/bash-completion/completions/gradwire
std::string zsh_completion(const ProgramWords& program);   // for a folder of $fpath, as _gradwire
std::string fish_completion(const ProgramWords& program);  // for share/fish/vendor_completions.d

// Manual pages, in the language of man(7): one of the program, one of each verb. Text out of values.
std::string man_page(const ProgramWords& program, const std::string& version);  // gradwire(1)
std::string man_page(const VerbWords& verb, const ProgramWords& program,
                     const std::string& version);  // gradwire-compare(1)

}  // namespace gradwire

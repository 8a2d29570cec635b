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

}  // namespace gradwire

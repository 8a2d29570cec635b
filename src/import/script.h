// What can be read off a training script without running it: the lines that matter to distributed training,
// Python's and C++'s. Comments are left out. A pure function; it knows words, not the language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct ScriptLine {
  std::string text;
  int number = 0;
  int indent = 0;
};

struct ScriptFile {
  std::string file;
  std::vector<ScriptLine> lines;  // without comments and blank ones

  const ScriptLine* find(std::string_view part) const;  // the first that holds it; null: none
  bool has(std::string_view part) const { return find(part) != nullptr; }
};

ScriptFile parse_script(std::string_view text, const std::string& name);

}  // namespace gradwire

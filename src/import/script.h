// What can be read off a training script, or one that starts a run, without running it: the lines that matter to distributed
// training, Python's, C++'s and the shell's. Comments and texts of several lines are left out. A pure function; it knows
// words, not the language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct ScriptLine {
  std::string text;
  std::string code;  // without blanks
  int number = 0;
  int indent = 0;
};

struct ScriptFile {
  std::string file;
  std::vector<ScriptLine> lines;  // without comments and blank ones

  // The first that holds it; `part` has no blanks. Null: none.
  const ScriptLine* find(std::string_view part) const;
  bool has(std::string_view part) const { return find(part) != nullptr; }
  // A line and those below it, until all that it opens is closed; without blanks.
  std::string statement(const ScriptLine& first) const;
};

ScriptFile parse_script(std::string_view text, const std::string& name);

}  // namespace gradwire

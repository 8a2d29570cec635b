#include "import/script.h"

#include <algorithm>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostLines = 100000, kLongestCode = 500;

// Up to a # or //, if that is not in a text.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == '\\')
        ++i;
      else if (line[i] == quote)
        quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#' && !line.substr(i).starts_with("#include")) {
      return line.substr(0, i);
    } else if (line.substr(i).starts_with("//") && (i == 0 || line[i - 1] == ' ' || line[i - 1] == ';')) {
      // Python's division of whole numbers has a blank on its left too, and then a number or name follows.
      const bool division = i > 0 && i + 3 < line.size() && line.find('=') < i && line[i + 2] == ' ' &&
                            line.find(';') == std::string_view::npos;
      if (!division) return line.substr(0, i);
    }
  }
  return line;
}

}  // namespace

const ScriptLine* ScriptFile::find(std::string_view part) const {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
    return line.text.find(part) != std::string::npos;
  });
  return found == lines.end() ? nullptr : &*found;
}

ScriptFile parse_script(std::string_view text, const std::string& name) {
  ScriptFile script;
  script.file = name;
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    const auto code = without_comment(raw);
    const auto words = trim(code);
    if (words.empty() || script.lines.size() >= kMostLines) continue;
    script.lines.push_back({std::string(words.substr(0, kLongestCode)), number,
                            static_cast<int>(code.find_first_not_of(" \t"))});
  }
  return script;
}

}  // namespace gradwire

#include "import/script.h"

#include <algorithm>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostLines = 100000, kLongestCode = 500;

std::string without_blanks(std::string_view text) {
  std::string rest(text);
  std::erase_if(rest, [](char c) { return c == ' ' || c == '\t'; });
  return rest;
}

// Python's division of whole numbers has a blank on its left, and then a number or name follows; of C++ a comment.
bool begins_comment_of_cpp(std::string_view line, std::size_t at) {
  if (!line.substr(at).starts_with("//") || (at > 0 && line[at - 1] != ' ' && line[at - 1] != ';'))
    return false;
  const bool division = at > 0 && at + 3 < line.size() && line.find('=') < at && line[at + 2] == ' ' &&
                        line.find(';') == std::string_view::npos;
  return !division;
}

bool begins_comment(std::string_view line, std::size_t at) {
  const auto rest = line.substr(at);
  const bool kept = rest.starts_with("#include") || rest.starts_with("#SBATCH");
  return (line[at] == '#' && !kept) || begins_comment_of_cpp(line, at);
}

// Leaves out comments, and texts of several lines, which Python's documentation is.
class CodeLines {
 public:
  std::string code_of(std::string_view line) {
    std::string code;
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (long_text_ != 0 || (quote == 0 && is_long_quote(line, i))) {
        i += pass_long_text(line, i);
        continue;
      }
      if (quote == 0 && begins_comment(line, i)) break;
      code += line[i];
      if (quote != 0 && line[i] == '\\' && i + 1 < line.size())
        code += line[++i];
      else if (quote == line[i])
        quote = 0;
      else if (quote == 0 && (line[i] == '"' || line[i] == '\''))
        quote = line[i];
    }
    return code;
  }

 private:
  static bool is_long_quote(std::string_view line, std::size_t at) {
    return line.substr(at).starts_with("\"\"\"") || line.substr(at).starts_with("'''");
  }

  // How many characters more than one belong to it: a quote of three begins or ends it.
  std::size_t pass_long_text(std::string_view line, std::size_t at) {
    if (!is_long_quote(line, at) || (long_text_ != 0 && line[at] != long_text_)) return 0;
    long_text_ = long_text_ == 0 ? line[at] : '\0';
    return 2;
  }

  char long_text_ = 0;  // the quote that began it; 0: none is open
};

}  // namespace

const ScriptLine* ScriptFile::find(std::string_view part) const {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
    return line.code.find(part) != std::string::npos;
  });
  return found == lines.end() ? nullptr : &*found;
}

std::string ScriptFile::statement(const ScriptLine& first) const {
  constexpr int kMostJoined = 30;
  std::string statement;
  std::ptrdiff_t open = 0;
  const auto begin = lines.begin() + (&first - lines.data());
  for (auto line = begin; line != lines.end() && line - begin < kMostJoined; ++line) {
    statement += line->code;
    open += std::count(line->code.begin(), line->code.end(), '(') -
            std::count(line->code.begin(), line->code.end(), ')');
    if (open <= 0) break;
  }
  return statement;
}

ScriptFile parse_script(std::string_view text, const std::string& name) {
  ScriptFile script;
  script.file = name;
  CodeLines code_lines;
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    const std::string code = code_lines.code_of(raw);
    const auto words = trim(code);
    if (words.empty() || script.lines.size() >= kMostLines) continue;
    const auto kept = words.substr(0, kLongestCode);
    script.lines.push_back(
        {std::string(kept), without_blanks(kept), number, static_cast<int>(code.find_first_not_of(" \t"))});
  }
  return script;
}

}  // namespace gradwire

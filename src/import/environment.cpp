#include "import/environment.h"

#include "base/text.h"

namespace gradwire {
namespace {

std::string_view without_quotes(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    return value.substr(1, value.size() - 2);
  return value;
}

}  // namespace

EnvironmentFile parse_environment(std::string_view text, const std::string& name) {
  EnvironmentFile file;
  file.file = name;
  int line = 0;
  for (const auto raw : split(text, text.find('\0') == std::string_view::npos ? '\n' : '\0')) {
    ++line;
    auto pair = trim(raw);
    for (const std::string_view word : {"export ", "declare -x ", "ENV "})
      if (pair.starts_with(word)) pair = trim(pair.substr(word.size()));
    const auto equals = pair.find('=');
    if (equals == 0 || equals == std::string_view::npos || pair.starts_with('#')) continue;
    const auto key = pair.substr(0, equals);
    if (key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") !=
        std::string_view::npos)
      continue;
    file.variables[std::string(key)] = {std::string(without_quotes(trim(pair.substr(equals + 1)))), line, 1};
  }
  return file;
}

}  // namespace gradwire

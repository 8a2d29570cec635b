#include "report/wrap.h"

#include <algorithm>

#include "base/text.h"

namespace gradwire {

std::size_t display_width(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; }));
}

std::string wrap(std::string_view text, std::size_t width, std::string_view rest) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  std::string result(text.substr(0, begin));
  std::size_t column = begin;
  bool first = true;  // of its line
  for (const auto word : split(text.substr(begin), ' ')) {
    const std::size_t needed = display_width(word);
    if (!first && column + 1 + needed > width) {
      result += '\n';
      result += rest;
      column = rest.size();
    } else if (!first) {
      result += ' ';
      ++column;
    }
    result += word;
    column += needed;
    first = false;
  }
  return result;
}

std::string wrapped(std::string_view text, std::size_t indent) {
  return wrap(text, kTerminalWidth, std::string(indent, ' ')) + '\n';
}

}  // namespace gradwire

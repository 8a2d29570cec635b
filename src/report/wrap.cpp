#include "report/wrap.h"

#include "base/text.h"

namespace gradwire {

std::string wrap(std::string_view text, std::size_t width, std::string_view rest) {
  std::string result;
  std::size_t column = 0;
  for (const auto word : split(text, ' ')) {
    if (column > 0 && column + 1 + word.size() > width) {
      result += "\n";
      result += rest;
      column = rest.size();
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

}  // namespace gradwire

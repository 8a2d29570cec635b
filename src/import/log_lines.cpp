#include "import/log_lines.h"

#include <cctype>

namespace gradwire {

bool LogLines::fill() {
  at_ = 0;
  end_ = source_.read(block_);
  return end_ > 0;
}

void LogLines::keep(char c) {
  if (escape_ == 1) {
    escape_ = c == '[' ? 2 : c == ']' ? 3 : 0;
  } else if (escape_ == 2) {
    if (std::isalpha(static_cast<unsigned char>(c))) escape_ = 0;
  } else if (escape_ == 3) {
    if (c == '\a' || c == '\\') escape_ = 0;
  } else if (c == '\x1b') {
    escape_ = 1;
  } else if (line_.size() < kLongestLine) {
    line_ += c;
  } else {
    cut_ = true;
  }
}

std::optional<std::string_view> LogLines::next() {
  line_.clear();
  escape_ = 0;
  bool any = false;
  while (at_ < end_ || fill()) {
    any = true;
    const char c = block_[at_++];
    if (c == '\n') break;
    keep(c == '\r' ? ' ' : c);
  }
  if (!any) return std::nullopt;
  ++number_;
  return line_;
}

}  // namespace gradwire

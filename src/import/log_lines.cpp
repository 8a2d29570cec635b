#include "import/log_lines.h"

#include <cctype>
#include <cstring>

namespace gradwire {
namespace {

bool has_byte(std::string_view text, char c) {
  return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr;
}

}  // namespace

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

// Most lines lie in the block as they are; they are not copied.
std::optional<std::string_view> LogLines::find_plain() {
  const std::string_view rest = std::string_view(block_).substr(at_, end_ - at_);
  const auto size = rest.find('\n');
  const auto line = rest.substr(0, size);
  if (size == std::string_view::npos || size > kLongestLine || has_byte(line, '\x1b') || has_byte(line, '\r'))
    return std::nullopt;
  at_ += size + 1;
  ++number_;
  return line;
}

std::optional<std::string_view> LogLines::next() {
  if (const auto plain = find_plain()) return plain;
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

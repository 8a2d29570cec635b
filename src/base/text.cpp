#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gradwire {

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) all += separator;
    all += parts[i];
  }
  return all;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::size_t display_width(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; }));
}

namespace {

// At blanks; what stands in backquotes is there to be copied, and one word.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  for (std::size_t at = 0;; ++at) {
    if (at < text.size() && text[at] == '`') {
      const auto end = text.find('`', at + 1);
      if (end != std::string_view::npos) at = end;
    }
    if (at < text.size() && text[at] != ' ') continue;
    words.push_back(text.substr(begin, at - begin));
    begin = at + 1;
    if (at >= text.size()) return words;
  }
}

}  // namespace

std::string wrap(std::string_view text, std::size_t width, std::string_view rest) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  std::string result(text.substr(0, begin));
  std::size_t column = begin;
  bool first = true;  // of its line
  for (const auto word : words_of(text.substr(begin))) {
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

namespace {

// Of the character that begins at `at`: how many bytes it has and which it is; {1, none} where it is no UTF-8.
struct Character {
  std::size_t bytes = 1;
  std::optional<char32_t> code = std::nullopt;
};

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (byte(0) < 0x80) return {1, char32_t{byte(0)}};
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || at + bytes > text.size()) return {};
  char32_t code = byte(0) & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
  return {bytes, code};
}

bool acts(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [bytes, code] = character_at(text, at);
    const bool kept = lines == Lines::keep && (code == U'\n' || code == U'\t');
    if (code && (kept || !acts(*code)))
      shown += text.substr(at, bytes);
    else
      shown += '?';
    at += bytes;
  }
  return shown;
}

}  // namespace gradwire

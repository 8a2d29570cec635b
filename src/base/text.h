// Small text helpers over string views; what they return borrows from the argument.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);  // "a,,b" has three parts
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// What of a file may go to a terminal: control characters and bytes that are no UTF-8 become '?'.
std::string printable(std::string_view text);

// The whole of `text` as an integer, or nothing.
template <typename T>
std::optional<T> find_integer(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace gradwire

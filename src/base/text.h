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

std::string lower_case(std::string_view text);  // of ASCII; other letters stay

constexpr std::size_t kTerminalWidth = 80;  // what every terminal has

std::size_t display_width(std::string_view utf8);  // characters, not bytes

// Words put into lines of at most `width` characters, all but the first beginning with `rest`. Blanks at the beginning
// and between words stay. A longer word has a line of its own; what stands in `backquotes` is one.
std::string wrap(std::string_view text, std::size_t width = kTerminalWidth, std::string_view rest = "");

std::string describe_signal(int number);  // "SIGSEGV"

// Text from outside (a file, a name in it, another program) as it may be shown on a terminal: characters that
// would act instead of being read (controls of ASCII and Unicode, DEL, marks that turn the direction of
// writing) and bytes that are no UTF-8 become '?'. With Lines::keep line ends and tabs stay.
enum class Lines { join, keep };
std::string printable(std::string_view text, Lines lines = Lines::join);

// The whole of `text` as an integer, or nothing.
template <typename T>
std::optional<T> find_integer(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace gradwire

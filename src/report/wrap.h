// Prose in lines that fit a terminal. Values in, text out.
#pragma once

#include <string>
#include <string_view>

namespace gradwire {

constexpr std::size_t kTerminalWidth = 80;  // what every terminal has

std::size_t display_width(std::string_view utf8);  // characters, not bytes

// Words put into lines of at most `width` characters, all but the first beginning with `rest`. Blanks at the beginning
// and between words stay. A longer word has a line of its own.
std::string wrap(std::string_view text, std::size_t width = kTerminalWidth, std::string_view rest = "");

// The same for a terminal, the second and later lines indented, with an end to the last.
std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace gradwire

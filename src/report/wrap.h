// Prose in lines. Values in, text out.
#pragma once

#include <string>
#include <string_view>

namespace gradwire {

constexpr std::size_t kTerminalWidth = 80;  // what every terminal has

// Words put into lines of at most `width` characters, all but the first beginning with `rest`. A longer word
// has a line of its own. What is not ASCII counts by bytes.
std::string wrap(std::string_view text, std::size_t width = kTerminalWidth, std::string_view rest = "");

}  // namespace gradwire

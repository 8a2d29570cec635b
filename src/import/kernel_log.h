// What the kernel of a machine says (dmesg, journalctl -k), told by its lines. Pure functions.
#pragma once

#include <string_view>

namespace gradwire {

// "[   12.345678] nvidia 0000:3b:00.0: ...", or behind any stamp what the driver says of itself, "NVRM: ...", and how a
// kernel begins, "Linux version 6.1.0 ...".
bool is_line_of_kernel(std::string_view line);

// Such a line with a word that is the kernel's alone, or most of its lines with the kernel's stamp.
bool looks_like_kernel_log(std::string_view text);

}  // namespace gradwire

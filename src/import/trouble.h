// What programs around NCCL print when they die of it, or warn of what slows them. A pure function.
#pragma once

#include <string_view>

namespace gradwire {

// Whether a line, or any line of a text, is such a one. What each means, explain/known_failures.h knows.
bool tells_of_trouble(std::string_view text);

}  // namespace gradwire

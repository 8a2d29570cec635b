// What a user may have meant: the known words nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

// " (did you mean dgx-a100 or dgx-h100?)", with at most three; empty if nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace gradwire

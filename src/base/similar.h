// What a user may have meant: the known words nearest to a misspelt one. Near is a word a few letters off
// (one changed, left out, put in, or two swapped count as one; capitals and dashes count nothing), or one that begins with
// what was written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

// The nearest, at most three that are equally near; empty if nothing is near.
std::vector<std::string> near_words(std::string_view word, const std::vector<std::string>& known);

// " (did you mean dgx-a100 or dgx-h100?)"; empty if nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace gradwire

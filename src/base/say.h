// Lines for people, on stderr. Whoever says what went wrong has others to look after, and nobody may listen any more: so these
// never fail, raise no signal, and wait but a moment for a reader that is stuck. What can't be written is lost.
#pragma once

#include <string_view>

namespace gradwire {

void say(std::string_view text);                        // as it may be shown on a terminal, and a line end
void say(std::string_view who, std::string_view text);  // "gradwire run: rank 1 exited with code 7"

}  // namespace gradwire

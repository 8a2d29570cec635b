// Lines for people, on stderr. Whoever says what went wrong has others to look after, and nobody may listen any more: so these
// never fail, raise no signal, and wait but a moment for a reader that is stuck. What can't be written is lost.
// On a terminal they are wrapped as reports are; whoever else reads gets a line as one. Lines that begin with a blank, and what
// stands in backquotes, are there to be copied and stay whole.
#pragma once

#include <string_view>

namespace gradwire {

void say(std::string_view text);                        // as it may be shown on a terminal, and a line end
void say(std::string_view who, std::string_view text);  // "gradwire run: rank 1 exited with code 7"

// A terminal that colours, and goes back to the beginning of a line, when told to: one that TERM does not call dumb.
bool obeys_controls(int descriptor);

}  // namespace gradwire

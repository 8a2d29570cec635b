// What a reader must know of a machine beside what was said of it: what was assumed, and what measuring it moved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topo/machine.h"

namespace gradwire {

// "measured (sweep.txt): eight of ten all-reduce times of 64 MiB within 12 %, without it 35 %"
std::string to_words(const MeasuredThere&);

// "box.txt does not name its GPU: its links suggest an RTX A6000; write box.txt:GPU if it is another"; a clause.
std::optional<std::string> find_guess_note(const Machine&);

std::vector<std::string> all_notes(const Machine&);

}  // namespace gradwire

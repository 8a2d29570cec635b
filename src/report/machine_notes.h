// What a reader must know of a machine beside what was said of it: what was assumed, and what measuring it moved.
#pragma once

#include <string>
#include <vector>

#include "topo/machine.h"

namespace gradwire {

// "measured (sweep.txt): eight of ten all-reduce times of 64 MiB within 12 %, without it 35 %"
std::string to_words(const MeasuredThere&);

std::vector<std::string> all_notes(const Machine&);

}  // namespace gradwire

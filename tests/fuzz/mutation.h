// Damages bytes at random, the same for the same seed: bits, bytes and pieces changed, cut out, doubled, cut off or put in from
// elsewhere; numbers that can't be, brackets without end, control characters, invalid UTF-8. A pure function.
#pragma once

#include <cstdint>
#include <string>

namespace gradwire {

std::string mutated(std::string bytes, std::uint64_t seed);

}  // namespace gradwire

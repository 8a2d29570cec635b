// Why a measured record does not count.
#pragma once

#include <span>
#include <string>

#include "predict/validation/collectives.h"

namespace gradwire {

// The record's own note; of an odd one also what is known of it and what arithmetic shows: more than linear
// scaling, or the point furthest from its prediction. `points` may hold those of other records too. Empty for
// a record that counts.
std::string doubt_of(const Record&, std::span<const ValidationPoint> points);

}  // namespace gradwire

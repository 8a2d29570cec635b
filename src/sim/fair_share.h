// Max-min fair rates of flows that are all there at once. sharing.h has the algorithm, and keeps it up to
// date while flows come and go.
#pragma once

#include <span>
#include <vector>

#include "sim/network.h"

namespace gradwire {

// Rate of each flow, in bytes/s; infinite for one that crosses nothing. Flows that cross the same pipes, in
// whatever order, are counted instead of looked at one by one.
std::vector<double> fair_share(std::span<const double> bytes_per_s,
                               std::span<const std::vector<PipeId>> routes);

}  // namespace gradwire

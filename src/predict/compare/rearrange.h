// The same GPUs placed otherwise: on fewer nodes, in other slots, with a bridge. Values.
#pragma once

#include <string>
#include <vector>

#include "topo/machine.h"

namespace gradwire {

struct Rearrangement {
  std::string what, note;
  Machine machine;
};

// What could be tried with this machine's GPUs; what can't be built is left out. Nothing where a matrix says
// how they are wired, except fewer nodes.
std::vector<Rearrangement> rearrangements_of(const Machine&);

}  // namespace gradwire

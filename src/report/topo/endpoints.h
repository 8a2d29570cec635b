// What the tables of a machine have as rows and columns: the GPUs and network cards of its first node.
#pragma once

#include <string>
#include <vector>

#include "topo/machine.h"

namespace gradwire {

using Cells = std::vector<std::vector<std::string>>;

struct Endpoints {
  std::vector<DeviceId> ids;
  std::vector<std::string> names;
  std::size_t gpus = 0;  // the first ones
};

struct EndpointPair {
  std::string cell;  // "X", "NV12", "PHB"
  Path path;         // without its links
};

Endpoints endpoints_of(const Machine&);
std::vector<std::vector<EndpointPair>> pairs_of(const Machine&, const Endpoints&);  // row by row

}  // namespace gradwire

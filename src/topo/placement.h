// Where GPUs and network cards sit in the PCIe tree of a node. Made from a layout or from a matrix; one
// builder then makes devices and links of it.
#pragma once

#include <vector>

#include "topo/build/resolve.h"

namespace gradwire {

// Numbers are names of groups within the node, counted from 0 for each kind; -1: there is no such level (a
// GPU on NVLink-C2C has no bridge).
struct Seat {
  int cpu = 0, bridge = 0;
  int upper = -1;  // switch above the leaf switch
  int leaf = -1;
  int width = 16, gen = 0;  // of the device's own link; gen 0: as the node says
  bool operator==(const Seat&) const = default;
};

struct SeatPlan {
  std::vector<Seat> gpus, nics;
  int cpus = 1;
  int count(int Seat::*group) const;  // groups of a kind
};

SeatPlan place(const ResolvedNode&);  // throws ConfigError for a layout whose levels don't nest

bool joined_by_c2c(const ResolvedNode&);  // GPUs hang on their processor without PCIe (Grace)

SeatPlan place_by_layout(const ResolvedNode&);
SeatPlan place_by_matrix(const ResolvedNode&);
void add_nics(const ResolvedNode&, SeatPlan&, int cards);  // at switches or sockets, spread evenly

}  // namespace gradwire

// Groups of ranks that run the same collective at once, each on GPUs of its own: what NCCL makes of each, beside what
// the others take of the slots, switches, memories and network cards they share. A value that no constant has touched.
//
// Nodes whose groups sit alike are looked at once, so thousands of nodes cost little more than one.
#pragma once

#include <vector>

#include "predict/nccl/fabric.h"

namespace gradwire {

using RankGroups = std::vector<std::vector<int>>;  // ranks are indices of Machine::gpus

// `size` ranks in each, `stride` apart: (8, 2, 4) gives 0 4, 1 5, 2 6, 3 7. Throws ConfigError if they don't go up.
RankGroups strided_groups(int ranks, int size, int stride = 1);

RankGroups all_ranks(const Machine&);  // one group

// A group, seen from one of the nodes it is on.
struct GroupFabric {
  NcclFabric fabric;
  std::vector<DeviceId> gpus;                 // there
  std::vector<std::vector<DeviceId>> others;  // GPUs of the other groups there
};

// By kind: groups that sit alike, on nodes where others sit alike, are one. Throws ConfigError for a rank that the
// machine does not have, or that is named twice.
std::vector<GroupFabric> group_fabrics(const Machine&, const RankGroups&, const NcclSettings&);

// The network cards that NCCL takes for GPUs of one node: those nearest to each.
std::vector<DeviceId> cards_of(const Machine&, const std::vector<DeviceId>& gpus);

}  // namespace gradwire

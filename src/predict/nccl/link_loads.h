// What an all-reduce of large buffers does to the links of a node: its rings run at the rate that sharing the machine's
// resources gives them (price.h), and each link is used as far as the fullest resource that lies on it. Pure.
#pragma once

#include <vector>

#include "predict/nccl/all_reduce.h"
#include "topo/machine.h"

namespace gradwire {

struct LinkLoad {
  LinkId cable = -1;       // the lower of its two directions
  double share = 0;        // of what it gives, 0 to 1
  bool narrowest = false;  // it is what AllReduceEstimate::narrowest_link names
};

// Of the first node, by cable; links that carry nothing are left out. Where thread blocks hold rings up no link is the
// narrowest.
std::vector<LinkLoad> link_loads(const Machine&, const NcclModel&);

}  // namespace gradwire

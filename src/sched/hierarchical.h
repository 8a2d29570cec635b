// Two levels: inside each host, then across hosts, where links are slow and every byte should pass once.
#pragma once

#include <span>

#include "sched/program.h"

namespace gradwire {

// hosts[r] is the host of rank r; any numbers, hosts of any sizes. As many ranks of every host as the
// smallest has, its rails, each own a part of the data: they collect it from their host, form a ring with the
// same rail of the other hosts, and hand the result to their host.
Part hierarchical_all_reduce(Rank me, std::span<const int> hosts, int cut = 1);

}  // namespace gradwire

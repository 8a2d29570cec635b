// Collectives over several hosts with several ranks each: shared memory inside a host, another backend
// across, so that each byte crosses the network once in each direction, whatever the number of ranks on a
// host.
//
// With as many ranks on every host an all_reduce goes in lanes: the ranks of a host divide the sum of their
// host among them, the k-th ranks of all hosts combine the k-th part over the network, and the parts are put
// together inside each host. Small ones, uneven hosts and the other collectives that gain from it go through
// one leader a host. What gains nothing (all_to_all, all_gather, reduce_scatter) runs across alone.
#pragma once

#include <functional>
#include <memory>

#include "comm/collectives.h"
#include "net/world.h"

namespace gradwire {

using CollectivesFactory = std::function<std::unique_ptr<Collectives>(const World&)>;

// `inside` makes the collectives of a host's ranks, `across` those between hosts. When a part fails, all
// ranks get the error of the one that noticed first, through the world's store.
std::unique_ptr<Collectives> make_hierarchical(const World& world, const CollectivesFactory& inside,
                                               const CollectivesFactory& across);

}  // namespace gradwire

// Direct algorithms: everybody sends to everybody, at once. One or two messages in a row whatever the world
// size, and n - 1 for every rank to send at a time: the choice for small worlds and small data.
#pragma once

#include "sched/program.h"

namespace gradwire {

// Everybody gets everybody's whole data and adds it up in rank order, the same on all.
Part exchange_all_reduce(Rank me, int world, int cut = 1);

// Rank c gets everybody's chunk c, and everybody gets the sum from it.
Part direct_all_reduce(Rank me, int world);

Part direct_reduce_scatter(Rank me, int world);
Part direct_all_gather(Rank me, int world);
Part direct_all_to_all(Rank me, int world);

// Not everybody with everybody: in round s a rank tells the one 2^s further on that it, and all it has heard
// of, are there. Log n rounds of messages without bytes.
Part dissemination_barrier(Rank me, int world);

}  // namespace gradwire

// Collectives between the ranks of one host, through shared memory.
//
//   small    up to some KiB a rank: contributions travel in mailboxes; one line's journey between cores
//   in place the buffer is communicator memory (allocate()) on every rank: each rank combines its slice of
//   all
//            buffers and writes it into all of them; nothing is copied
//   staged   any other memory: windows pass through shared stages, see staged.cpp
// Every slice is combined by one rank in rank order, so all ranks hold the same bits.
#pragma once

#include <memory>

#include "comm/collectives.h"
#include "net/world.h"

namespace gradwire {

// All ranks of `world` must be on one host. Returns when all have come.
std::unique_ptr<Collectives> make_shm(const World& world);

}  // namespace gradwire

// One block of memory for all ranks of a host, which each may read and write: what one rank writes the others see, without a
// copy. Who may write what and when is up to those who share it; a barrier of the communicator between a write and a
// read orders the two.
#pragma once

#include "comm/communicator.h"

namespace gradwire {

// Whether the communicator's ranks can have one: all are on one host and their communicator is shared memory.
bool can_share_memory(const Communicator& communicator);

// All ranks call it, with the same size. Zeroed, aligned to a page; a page lies near the rank that touches it first. It
// is gone with the last rank that holds it.
Memory allocate_common(Communicator& communicator, std::size_t bytes);

}  // namespace gradwire

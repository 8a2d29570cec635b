// Messages between the ranks of one host through shared memory: a ring for each ordered pair of ranks.
#pragma once

#include <memory>

#include "net/transport.h"
#include "net/world.h"

namespace gradwire {

struct ShmOptions {
  Bytes ring_bytes = 0;  // of each ordered pair; 0: by the number of ranks
};

// All ranks of `world` must be on one host. Returns when every rank has come; throws what went wrong on any
// of them.
std::unique_ptr<Transport> make_shm_transport(const World& world, const ShmOptions& options = {});

}  // namespace gradwire

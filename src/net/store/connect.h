// How a client gets through a store's door: connect, the handshake of wire.h, and trying again.
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/fd.h"
#include "net/store/tcp.h"

namespace gradwire {

// A connection on which both sides have proved the secret; see the constructor of TcpStore.
Fd connect_to_store(const TcpStore::Options& options, Deadline deadline);

}  // namespace gradwire

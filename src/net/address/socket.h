// The few calls on TCP sockets that the store and the transports share. All sockets are non-blocking and are
// not inherited by programs this process starts.
#pragma once

#include <cstddef>

#include "base/deadline.h"
#include "base/fd.h"
#include "net/address/address.h"

namespace gradwire {

Fd listen_at(const SocketAddress& address, int backlog = 1024);  // throws TransportError naming the address
// Takes the address without listening there; port 0 becomes a free one.
Fd bind_to(const SocketAddress& address);
SocketAddress local_address(int socket);

// How many connections of strangers a process may hold, at most `most`: a quarter of the descriptors it may have, so that the rest
// is there for what it needs itself.
std::size_t stranger_limit(std::size_t most);
// Whether a call has failed for want of what strangers may hold, by its errno.
bool out_of_descriptors(int error);

// One attempt to connect. Throws Timeout, or TransportError with the reason.
Fd connect_to(const SocketAddress& address, Deadline deadline);

// Nagle off, and probes that notice within half a minute that the other machine is gone.
void tune_for_messages(int socket);

// Waits until the socket is ready for `events` (POLLIN, POLLOUT). False when the deadline passed.
bool wait_until_ready(int socket, short events, Deadline deadline);

}  // namespace gradwire

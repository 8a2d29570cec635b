// Messages between ranks over TCP, on one machine or several.
#pragma once

#include <memory>
#include <string>

#include "net/transport.h"
#include "net/world.h"

namespace gradwire {

struct TcpOptions {
  int sockets = 1;  // between a pair of ranks; the bytes of large messages are dealt out to them
  Bytes chunk_bytes = 256 << 10;     // moved by one system call
  Bytes buffer_bytes = 0;            // of each socket and direction; 0: as the system sees fit
  Seconds spin = 50e-6;              // of a wait, before it blocks
  std::string congestion = "cubic";  // control of it, where permitted; empty: the system's choice
};

// Every rank listens at the world's interface until all have connected, and lets in only ranks that prove the
// world's secret. Returns when every rank has come; throws what went wrong on any of them.
std::unique_ptr<Transport> make_tcp_transport(const World& world, const TcpOptions& options = {});

}  // namespace gradwire

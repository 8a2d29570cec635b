#include "net/tcp/tcp_transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/error.h"
#include "net/address/socket.h"
#include "net/backoff.h"
#include "net/message_transport.h"
#include "net/tcp/tcp_wire.h"

namespace gradwire {
namespace {

void check_options(const TcpOptions& options) {
  if (options.sockets < 1 || options.sockets > 64)
    throw ConfigError(fmt::format("tcp needs 1 to 64 sockets between two ranks, not {}", options.sockets));
  if (options.chunk_bytes < 4096)
    throw ConfigError(fmt::format("tcp needs chunks of at least 4096 bytes, not {}", options.chunk_bytes));
}

// What the system does not permit is left as it is: these make a lane faster, not right.
void wish(int socket, int level, int option, int value) {
  [[maybe_unused]] const int result = ::setsockopt(socket, level, option, &value, sizeof value);
}

void tune_data_lane(int socket, const TcpOptions& options) {
  // A peer that computes for minutes with a full buffer is no lost peer: waits have deadlines of their own.
  wish(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
  if (!options.congestion.empty()) {
    [[maybe_unused]] const int result =
        ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, options.congestion.data(),
                     static_cast<socklen_t>(options.congestion.size()));
  }
  if (options.buffer_bytes == 0) return;
  const int bytes = static_cast<int>(std::min<Bytes>(options.buffer_bytes, 1 << 30));
  for (const int option : {SO_SNDBUF, SO_SNDBUFFORCE, SO_RCVBUF, SO_RCVBUFFORCE})
    wish(socket, SOL_SOCKET, option, bytes);
}

void tune(const std::vector<Lanes>& mesh, const TcpOptions& options) {
  for (const Lanes& lanes : mesh)
    for (const Fd& lane : lanes) {
      tune_for_messages(lane.get());
      if (&lane != &lanes.back()) tune_data_lane(lane.get(), options);
    }
}

}  // namespace

std::unique_ptr<Transport> make_tcp_transport(const World& world, const TcpOptions& options) {
  check_options(options);
  const Deadline deadline = Deadline::after(world.timeout);
  auto mesh = connect_mesh(world, options.sockets + 1, deadline);
  tune(mesh, options);
  auto wire = std::make_unique<TcpWire>(world.names(), std::move(mesh), options,
                                        backoff_for(world, deadline).spins());
  return std::make_unique<MessageTransport>(world.names(), world.size, std::move(wire));
}

}  // namespace gradwire

#include "net/address/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"

namespace gradwire {
namespace {

void set_option(int socket, int level, int option, int value) {
  if (::setsockopt(socket, level, option, &value, sizeof value) != 0) throw_system_error("setsockopt");
}

Fd make_socket(int family) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) throw_system_error("socket");
  return fd;
}

}  // namespace

Fd bind_to(const SocketAddress& address) {
  Fd fd = make_socket(address.family());
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(fd.get(), address.get(), address.size()) != 0)
    throw_system_error(fmt::format("can't listen at {}", address.text()));
  return fd;
}

Fd listen_at(const SocketAddress& address, int backlog) {
  Fd fd = bind_to(address);
  if (::listen(fd.get(), backlog) != 0) throw_system_error(fmt::format("can't listen at {}", address.text()));
  return fd;
}

SocketAddress local_address(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    throw_system_error("getsockname");
  return SocketAddress(reinterpret_cast<const sockaddr*>(&storage));
}

std::size_t stranger_limit(std::size_t most) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return most;
  return static_cast<std::size_t>(std::clamp<rlim_t>(files.rlim_cur / 4, 1, most));
}

bool out_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

Fd connect_to(const SocketAddress& address, Deadline deadline) {
  Fd fd = make_socket(address.family());
  if (::connect(fd.get(), address.get(), address.size()) == 0) return fd;
  if (errno == EINPROGRESS) {
    if (!wait_until_ready(fd.get(), POLLOUT, deadline))
      throw Timeout(fmt::format("no answer from {} in time", address.text()));
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) throw_system_error("getsockopt");
    if (error == 0) return fd;
    errno = error;
  }
  throw_system_error(fmt::format("can't connect to {}", address.text()));
}

void tune_for_messages(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

bool wait_until_ready(int socket, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{socket, events, 0};
    const int ready = ::poll(&entry, 1, deadline.remaining_ms());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw_system_error("poll");
    if (deadline.passed()) return false;
  }
}

}  // namespace gradwire

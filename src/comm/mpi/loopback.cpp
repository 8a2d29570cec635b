// libgradwire-loopback.so: put in front of a program's libraries (LD_PRELOAD), it makes sockets that would listen on every
// interface listen on loopback. Open MPI's mpirun listens everywhere, whatever interfaces it is told to use, also where all
// ranks are on one host and nobody outside has any business with it.
//
// Only the program itself is changed: what it starts does not inherit this, which stands first in the variable. Nothing of Gradwire or the C++ runtime is used.
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

namespace {

using Bind = int(int, const sockaddr*, socklen_t);

Bind* system_bind() { return reinterpret_cast<Bind*>(dlsym(RTLD_NEXT, "bind")); }

// The address with loopback in it where it means every interface.
sockaddr_storage nearer(const sockaddr* address, socklen_t length) {
  sockaddr_storage copy{};
  std::memcpy(&copy, address, length);
  if (copy.ss_family == AF_INET && length >= sizeof(sockaddr_in)) {
    auto& four = reinterpret_cast<sockaddr_in&>(copy);
    if (four.sin_addr.s_addr == htonl(INADDR_ANY)) four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else if (copy.ss_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
    auto& six = reinterpret_cast<sockaddr_in6&>(copy);
    if (std::memcmp(&six.sin6_addr, &in6addr_any, sizeof six.sin6_addr) == 0)
      six.sin6_addr = in6addr_loopback;
  }
  return copy;
}

[[gnu::constructor]] void stay_here() {
  const char* const given = std::getenv("LD_PRELOAD");
  const char* const others = given == nullptr ? nullptr : std::strchr(given, ':');
  if (others == nullptr)
    ::unsetenv("LD_PRELOAD");
  else
    ::setenv("LD_PRELOAD", others + 1, 1);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int bind(int socket, const sockaddr* address,
                                                   socklen_t length) noexcept {
  static Bind* const next = system_bind();
  if (address == nullptr || length > sizeof(sockaddr_storage)) return next(socket, address, length);
  const sockaddr_storage place = nearer(address, length);
  return next(socket, reinterpret_cast<const sockaddr*>(&place), length);
}

// Where something listens: an IPv4 or IPv6 address with a port, and the ways to write one. Values.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

class SocketAddress {
 public:
  SocketAddress() = default;  // no address
  explicit SocketAddress(const sockaddr* address);
  static SocketAddress loopback(std::uint16_t port = 0);         // 127.0.0.1
  static SocketAddress any(int family, std::uint16_t port = 0);  // every interface

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const;
  int family() const { return storage_.ss_family; }
  std::uint16_t port() const;
  SocketAddress with_port(std::uint16_t port) const;
  bool is_loopback() const;

  std::string host() const;  // "10.0.0.1", "fe80::1%eth0"
  std::string text() const;  // "10.0.0.1:29500", "[::1]:29500"
  bool same_host(const SocketAddress& other) const;
  bool operator==(const SocketAddress& other) const;

 private:
  sockaddr_storage storage_{};
};

struct HostPort {
  std::string host;
  std::uint16_t port = 0;

  std::string text() const;
  bool operator==(const HostPort&) const = default;
};

HostPort parse_host_port(std::string_view text);  // throws ConfigError
std::uint16_t parse_port(std::string_view text);  // throws ConfigError

// All addresses of a host given by name or number, in the system's order of preference. May ask name servers.
// Throws ConfigError naming the host; TransportError where trying again may help: no name server is in reach.
std::vector<SocketAddress> resolve(const HostPort& place);
[[noreturn]] void throw_unresolved(const std::string& host, int error);  // as getaddrinfo() gives it

}  // namespace gradwire

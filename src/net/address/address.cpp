#include "net/address/address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

const sockaddr_in& v4(const SocketAddress& address) {
  return *reinterpret_cast<const sockaddr_in*>(address.get());
}

const sockaddr_in6& v6(const SocketAddress& address) {
  return *reinterpret_cast<const sockaddr_in6*>(address.get());
}

std::string bracketed(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address) {
  check(address->sa_family == AF_INET || address->sa_family == AF_INET6, "an address is IPv4 or IPv6");
  std::memcpy(&storage_, address, address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
}

SocketAddress SocketAddress::loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return SocketAddress(reinterpret_cast<const sockaddr*>(&address));
}

SocketAddress SocketAddress::any(int family, std::uint16_t port) {
  SocketAddress address;
  address.storage_.ss_family = static_cast<sa_family_t>(family);
  return address.with_port(port);
}

socklen_t SocketAddress::size() const {
  return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

std::uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET ? v4(*this).sin_port : v6(*this).sin6_port);
}

SocketAddress SocketAddress::with_port(std::uint16_t port) const {
  SocketAddress copy = *this;
  if (family() == AF_INET)
    reinterpret_cast<sockaddr_in&>(copy.storage_).sin_port = htons(port);
  else
    reinterpret_cast<sockaddr_in6&>(copy.storage_).sin6_port = htons(port);
  return copy;
}

bool SocketAddress::is_loopback() const {
  if (family() == AF_INET) return ntohl(v4(*this).sin_addr.s_addr) >> 24 == 127;
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6(*this).sin6_addr);
}

std::string SocketAddress::host() const {
  char text[NI_MAXHOST];
  const int error = ::getnameinfo(get(), size(), text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text : "no address";
}

std::string SocketAddress::text() const { return bracketed(host(), port()); }

bool SocketAddress::same_host(const SocketAddress& other) const { return with_port(0) == other.with_port(0); }

bool SocketAddress::operator==(const SocketAddress& other) const {
  return std::memcmp(&storage_, &other.storage_, sizeof storage_) == 0;
}

std::string HostPort::text() const { return bracketed(host, port); }

std::uint16_t parse_port(std::string_view text) {
  const auto port = find_integer<std::uint16_t>(text);
  if (!port || *port == 0)
    throw ConfigError(fmt::format("'{}' is not a port: write a number from 1 to 65535", text));
  return *port;
}

HostPort parse_host_port(std::string_view text) {
  const auto colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  if (colon == std::string_view::npos || host.empty() ||
      (!brackets && host.find(':') != std::string_view::npos))
    throw ConfigError(
        fmt::format("'{}' is not HOST:PORT: write it as node1:29500, 10.0.0.1:29500 or [::1]:29500", text));
  return {std::string(host), parse_port(text.substr(colon + 1))};
}

void throw_unresolved(const std::string& host, int error) {
  const bool passes = error == EAI_AGAIN || error == EAI_SYSTEM || error == EAI_MEMORY;
  const auto text = fmt::format("no address is known for the host '{}': {}", host, ::gai_strerror(error));
  if (passes) throw TransportError(text);
  throw ConfigError(text);
}

std::vector<SocketAddress> resolve(const HostPort& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(place.host.c_str(), nullptr, &hints, &found); error != 0)
    throw_unresolved(place.host, error);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next)
    if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6)
      addresses.push_back(SocketAddress(entry->ai_addr).with_port(place.port));
  return addresses;
}

}  // namespace gradwire

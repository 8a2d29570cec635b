#include "net/address/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

std::span<const unsigned char> bits_of(const SocketAddress& address) {
  if (address.family() == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in*>(address.get())->sin_addr;
    return {reinterpret_cast<const unsigned char*>(&v4), sizeof v4};
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_addr;
  return {reinterpret_cast<const unsigned char*>(&v6), sizeof v6};
}

bool is_link_local(const SocketAddress& address) {
  const auto bits = bits_of(address);
  return address.family() == AF_INET6 && bits[0] == 0xfe && (bits[1] & 0xc0) == 0x80;
}

// A CIDR; a plain address is a network of one.
struct Network {
  int family = AF_INET;
  unsigned char bits[16] = {};
  int length = 0;

  bool contains(const SocketAddress& address) const {
    if (address.family() != family) return false;
    const auto other = bits_of(address);
    const std::size_t whole = length / 8;
    if (std::memcmp(bits, other.data(), whole) != 0) return false;
    return length % 8 == 0 || (bits[whole] ^ other[whole]) >> (8 - length % 8) == 0;
  }
};

std::optional<Network> find_network(std::string_view text) {
  const auto slash = text.find('/');
  const std::string address(text.substr(0, slash));
  Network network;
  if (::inet_pton(AF_INET, address.c_str(), network.bits) != 1) {
    network.family = AF_INET6;
    if (::inet_pton(AF_INET6, address.c_str(), network.bits) != 1) return std::nullopt;
  }
  const int longest = network.family == AF_INET ? 32 : 128;
  network.length = longest;
  if (slash == std::string_view::npos) return network;
  const auto length = find_integer<int>(text.substr(slash + 1));
  if (!length || *length < 0 || *length > longest) return std::nullopt;
  network.length = *length;
  return network;
}

// The smaller, the better to listen on.
int preference(const Interface& interface) {
  return (interface.address.family() == AF_INET6 ? 1 : 0) + (is_link_local(interface.address) ? 2 : 0) +
         (interface.up ? 0 : 4);
}

std::string list(const std::vector<Interface>& interfaces) {
  std::vector<std::string> parts;
  for (const auto& interface : interfaces)
    parts.push_back(
        fmt::format("{} {}{}", interface.name, interface.address.host(), interface.up ? "" : " (down)"));
  return join(parts, ", ");
}

}  // namespace

std::vector<Interface> list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw_system_error("getifaddrs");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<Interface> interfaces;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    interfaces.push_back({entry->ifa_name, SocketAddress(entry->ifa_addr), (entry->ifa_flags & IFF_UP) != 0});
  }
  return interfaces;
}

SocketAddress choose_address(std::string_view wanted, const std::vector<Interface>& there_are) {
  if (wanted.empty()) return SocketAddress::loopback();
  const auto network = find_network(wanted);
  const Interface* best = nullptr;
  for (const auto& interface : there_are) {
    const bool fits = network ? network->contains(interface.address) : interface.name == wanted;
    if (fits && (best == nullptr || preference(interface) < preference(*best))) best = &interface;
  }
  if (best == nullptr)
    throw ConfigError(fmt::format("no interface, address or network of this machine is '{}': there are {}",
                                  wanted, list(there_are)));
  return best->address;
}

SocketAddress choose_address(std::string_view wanted) {
  return wanted.empty() ? SocketAddress::loopback() : choose_address(wanted, list_interfaces());
}

SocketAddress address_towards(const SocketAddress& peer) {
  const Fd probe(::socket(peer.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || ::connect(probe.get(), peer.get(), peer.size()) != 0)
    throw_system_error(fmt::format("no route to {}", peer.host()));
  return local_address(probe.get()).with_port(0);
}

}  // namespace gradwire

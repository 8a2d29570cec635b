// The network interfaces of this machine, and the choice of the address to listen on. A choice is written as
// an interface's name (eth0), an address (10.0.0.5) or a network (10.0.0.0/8, fd00::/8); nothing means
// loopback.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/address/address.h"

namespace gradwire {

struct Interface {
  std::string name;
  SocketAddress address;  // its port is 0
  bool up = true;
};

std::vector<Interface> list_interfaces();

// IPv4 before IPv6 where an interface has both. Throws ConfigError listing what there is.
SocketAddress choose_address(std::string_view wanted, const std::vector<Interface>& there_are);
SocketAddress choose_address(std::string_view wanted);

// The address of this machine that its routes would use to reach `peer`; sends nothing.
SocketAddress address_towards(const SocketAddress& peer);

}  // namespace gradwire

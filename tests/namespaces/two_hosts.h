// Two machines in one: two network namespaces of the kernel, joined by a cable of a given speed.
//
// Each has its own loopback and one interface, link0, with the address 10.77.0.1 (host 0) or 10.77.0.2 (host
// 1). Nothing has a name outside, and everything is gone with this object or with its process, however that
// ends. Needs root, and `ip` and `tc` from iproute2. Any thread may call.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/units.h"

namespace gradwire {

class TwoHosts {
 public:
  static constexpr const char* kNetwork = "10.77.0.0/24";

  // Why there can't be any here, or nothing.
  static std::optional<std::string> find_obstacle();

  // The cable's speed in each direction, in Gbit/s; 0: as fast as it goes.
  explicit TwoHosts(double gbit_per_s = 0);

  // From now on the calling thread, and what it starts, is on that host. Sockets it has stay where they are.
  void enter(int host) const;

  static std::string address(int host);
  Bytes bytes_sent(int host) const;  // over the cable so far
  void pull_cable();

  // Runs the command on both hosts at once, with HOST, ADDRESS and MASTER_ADDR in its environment, and
  // returns the first exit code that is not 0.
  int run_on_both(const std::vector<std::string>& command) const;

 private:
  void run_on(int host, const std::string& command) const;  // a shell command; throws when it fails

  std::array<Fd, 2> hosts_;
};

}  // namespace gradwire

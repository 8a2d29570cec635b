// The store of a job that no launcher hosts: rank 0 makes it and the others find it, at a place all of them
// know or through a file. The store that comes back keeps whatever it needs alive, on rank 0 the server too.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/deadline.h"
#include "base/fd.h"
#include "net/address/address.h"
#include "net/store/store.h"

namespace gradwire {

struct Meeting {
  Rank rank = 0;
  int size = 1;
  std::string interface;     // where rank 0 listens when the place is a file
  bool all_on_host = false;  // known to need no other machine
  std::string secret;
  Seconds timeout = 300;
};

// `secret` of the meeting is proved by both sides.
std::shared_ptr<Store> meet_at(const HostPort& place, const Meeting& meeting, Deadline deadline);

// The secret is made by rank 0 and learnt from the file, and put into the meeting, as is the place.
std::shared_ptr<Store> meet_through_file(const std::filesystem::path& path, Meeting& meeting, HostPort& place,
                                         Deadline deadline);

// What rank 0 does there. Throws ConfigError when it can't.
Fd listen_for_ranks(const HostPort& place, bool all_on_host);
// Where a process of the same machine finds what listens at an address, which may be "everywhere".
HostPort place_to_connect_to(const SocketAddress& listening);

// The address on which a rank is reached by those who find the store at `place`; empty for loopback.
std::string interface_towards(const HostPort& place, bool all_on_host);

}  // namespace gradwire

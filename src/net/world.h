// Who takes part in a job, as one rank sees it: the answer of a rendezvous, and what every communicator is
// built from.
#pragma once

#include <memory>
#include <string>

#include "base/units.h"
#include "net/store.h"

namespace gradwire {

struct World {
  Rank rank = 0;
  int size = 1;
  int local_rank = 0;  // among the ranks on this host
  int local_size = 1;
  std::string secret;  // what ranks prove to each other; never sent
  std::string
      interface;  // where transports listen: an interface's name, an address or a CIDR; empty: loopback
  Seconds timeout = 300;         // of every wait, unless a call says otherwise
  std::shared_ptr<Store> store;  // one that all ranks of this world see

  // Distinguishes the communicators built on one world; the same on every rank because they are built in one
  // order.
  std::string name = "world";
};

// Ranks with the same text share memory: boot id and network namespace, or $GRADWIRE_HOST where that is set.
std::string host_identity();

}  // namespace gradwire

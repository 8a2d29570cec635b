// Who takes part in a job, as one rank sees it: the answer of a rendezvous, and what every communicator is
// built from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "net/store/store.h"

namespace gradwire {

// What errors call the ranks of a world: the numbers they have in the job.
struct RankNames {
  Rank rank = 0;                   // this one, in the world
  std::vector<Rank> members = {};  // empty: the world is the job
  Rank of(Rank member) const { return members.empty() ? member : members[static_cast<std::size_t>(member)]; }
  Rank me() const { return of(rank); }
};

struct World {
  Rank rank = 0;
  int size = 1;
  int local_rank = 0;  // among the ranks on this host
  int local_size = 1;
  std::string secret;  // what ranks prove to each other; never sent
  // Where transports listen: an interface's name, an address or a CIDR; loopback when empty.
  std::string interface;
  // Backends whose connections prove nothing may listen beyond loopback: somebody answered for the network.
  bool trusts_network = false;
  Seconds timeout = 300;         // of every wait, unless a call says otherwise
  std::shared_ptr<Store> store;  // one that all ranks of this world see

  // Distinguishes the communicators built on one world; the same on every rank because they are built in one
  // order.
  std::string name = "world";

  // In a world made of some ranks of another: the number each has there, by which errors name it.
  std::vector<Rank> members;
  RankNames names() const { return {rank, members}; }
  Rank global(Rank member) const { return names().of(member); }
};

// The world of some of its ranks, in that order, as one of them sees it; all of them call it with the same
// list and name.
World subset(const World& world, const std::vector<Rank>& members, const std::string& name);

// The world of the ranks that give the same colour, in the order of their keys, or of their ranks where keys are the same. All ranks
// of `world` call it, with one name; none may be lost. A rank with no colour gets no world.
std::optional<World> split(const World& world, std::optional<int> colour, int key = 0,
                           const std::string& name = "split");

// The host of every rank, numbered from 0 in the order of their first rank. All ranks call it.
std::vector<int> hosts_of(const World& world);

// Ranks with the same text share memory: boot id and network namespace, or $GRADWIRE_HOST where that is set.
std::string host_identity();

}  // namespace gradwire

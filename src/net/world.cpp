#include "net/world.h"

#include <algorithm>

#include "base/error.h"

namespace gradwire {

World subset(const World& world, const std::vector<Rank>& members, const std::string& name) {
  World part = world;
  const auto me = std::find(members.begin(), members.end(), world.rank);
  check(me != members.end(), "a rank outside a world can't see it");
  part.rank = static_cast<Rank>(me - members.begin());
  part.size = static_cast<int>(members.size());
  part.name = world.name + "/" + name;
  part.members.clear();
  for (const Rank member : members) part.members.push_back(world.global(member));
  return part;
}

std::vector<int> hosts_of(const World& world) {
  if (world.size == 1) return {0};  // which needs no store
  const auto key = [&](Rank rank) { return fmt::format("{}/host/{}", world.name, rank); };
  world.store->set(key(world.rank), host_identity());
  std::vector<std::string> seen;
  std::vector<int> hosts;
  for (Rank rank = 0; rank < world.size; ++rank) {
    const std::string host =
        get_from(*world.store, world.global(rank), key(rank), Deadline::after(world.timeout));
    const auto found = std::find(seen.begin(), seen.end(), host);
    hosts.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(host);
  }
  return hosts;
}

}  // namespace gradwire

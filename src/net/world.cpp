#include "net/world.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "net/exchange.h"

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

std::optional<World> split(const World& world, std::optional<int> colour, int key, const std::string& name) {
  const auto all = exchange(world, "split " + name, Deadline::after(world.timeout),
                            [&] { return colour ? fmt::format("{} {}", *colour, key) : "none"; });
  std::vector<std::pair<int, Rank>> members;  // by key, then by rank
  for (Rank rank = 0; rank < world.size && colour; ++rank) {
    const auto words = split(all[rank], ' ');
    if (words.size() != 2 || find_integer<int>(words[0]) != colour) continue;
    members.emplace_back(find_integer<int>(words[1]).value_or(0), rank);
  }
  if (!colour) return std::nullopt;
  std::sort(members.begin(), members.end());
  std::vector<Rank> ranks;
  for (const auto& member : members) ranks.push_back(member.second);
  return subset(world, ranks, fmt::format("{}-{}", name, *colour));
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

std::string host_identity() {
  if (const char* told = std::getenv("GRADWIRE_HOST"); told != nullptr && *told != '\0') return told;
  struct stat network {};
  if (::stat("/proc/self/ns/net", &network) != 0) throw_system_error("stat /proc/self/ns/net");
  const auto boot = read_file("/proc/sys/kernel/random/boot_id");
  return fmt::format("{}/{}", trim(boot), network.st_ino);
}

}  // namespace gradwire

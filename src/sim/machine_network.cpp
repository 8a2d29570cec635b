#include "sim/machine_network.h"

#include "base/error.h"

namespace gradwire {

Network make_network(const Machine& machine, std::span<const Pair> pairs) {
  const int world = static_cast<int>(machine.gpus.size());
  Network network(world);
  for (const Link& link : machine.topology.links())
    network.add_pipe({link.rate.bytes_per_s, link.rate.latency});
  for (const Pair pair : pairs) {
    if (pair.from < 0 || pair.from >= world || pair.to < 0 || pair.to >= world)
      throw ConfigError(
          fmt::format("{} has {} GPUs, so no ranks {} and {}", machine.name, world, pair.from, pair.to));
    const Path path = find_path(machine, machine.gpus[pair.from], machine.gpus[pair.to]);
    if (path.path_class == PathClass::none)
      throw ConfigError(fmt::format("{} has no path from GPU {} to {}", machine.name, pair.from, pair.to));
    network.add_way(pair, path.links);
  }
  return network;
}

}  // namespace gradwire

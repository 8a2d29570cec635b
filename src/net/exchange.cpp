#include "net/exchange.h"

#include "base/error.h"

namespace gradwire {
namespace {

// A published value is one of these and what follows it.
constexpr char kMade = '+', kFailed = '-';

std::string key_of(const World& world, std::string_view what, Rank rank) {
  return fmt::format("{}/{}/{}", world.name, what, rank);
}

std::string content_of(std::string_view what, Rank peer, const std::string& value) {
  if (value.empty() || value[0] != kMade)
    throw TransportError(fmt::format("rank {} could not set up {}: {}", peer, what,
                                     value.empty() ? "it says nothing" : value.substr(1)));
  return value.substr(1);
}

}  // namespace

std::vector<std::string> exchange(const World& world, std::string_view what, Deadline deadline,
                                  const std::function<std::string()>& make) {
  try {
    world.store->set(key_of(world, what, world.rank), kMade + make());
  } catch (const std::exception& error) {
    world.store->set(key_of(world, what, world.rank), kFailed + std::string(error.what()));
    throw;
  }
  std::vector<std::string> all;
  for (Rank peer = 0; peer < world.size; ++peer)
    all.push_back(
        content_of(what, world.global(peer),
                   get_from(*world.store, world.global(peer), key_of(world, what, peer), deadline)));
  return all;
}

void check_exchange(const World& world, std::string_view what, Rank peer) {
  const std::string value = world.store->find(key_of(world, what, peer));
  const Rank name = world.global(peer);
  if (!value.empty()) content_of(what, name, value);
  const std::string loss = world.store->find(fmt::format("lost/{}", name));
  if (!loss.empty())
    throw PeerLost(name, fmt::format("rank {} is lost: {}; it was to set up {}", name, loss, what));
}

}  // namespace gradwire

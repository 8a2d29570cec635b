#include "net/rendezvous/rendezvous.h"

#include <unistd.h>

#include <vector>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "net/blame.h"
#include "net/rendezvous/hosting.h"
#include "net/rendezvous/secret.h"
#include "net/store/memory.h"
#include "net/store/tcp.h"

namespace gradwire {
namespace {

enum class Scheme : std::uint8_t { env, tcp, file };

struct RendezvousUrl {
  Scheme scheme = Scheme::env;
  std::string place;  // HOST:PORT or a path
  std::optional<Rank> rank;
  std::optional<int> size;
};

[[noreturn]] void reject(std::string_view url, const std::string& reason) {
  throw ConfigError(fmt::format(
      "'{}' is no rendezvous: {}; write env://, tcp://HOST:PORT?rank=0&size=2 or file:///PATH?rank=0&size=2",
      url, reason));
}

void read_parameter(std::string_view url, std::string_view parameter, RendezvousUrl& result) {
  const auto equals = parameter.find('=');
  const auto name = parameter.substr(0, equals);
  const auto text = equals == std::string_view::npos ? "" : parameter.substr(equals + 1);
  const auto value = find_integer<int>(text);
  if (name == "rank" && value && *value >= 0)
    result.rank = value;
  else if ((name == "size" || name == "world_size") && value && *value >= 1)
    result.size = value;
  else
    reject(url, fmt::format("'{}' is not understood", parameter));
}

std::optional<Scheme> find_scheme(std::string_view word) {
  if (word == "env") return Scheme::env;
  if (word == "tcp") return Scheme::tcp;
  return word == "file" ? std::optional(Scheme::file) : std::nullopt;
}

RendezvousUrl parse_rendezvous_url(std::string_view url) {
  const auto colon = url.find("://");
  if (colon == std::string_view::npos) reject(url, "it has no scheme");
  const auto question = url.find('?');
  RendezvousUrl result;
  const auto scheme = find_scheme(url.substr(0, colon));
  if (!scheme) reject(url, fmt::format("there is no scheme '{}'", url.substr(0, colon)));
  result.scheme = *scheme;
  result.place = url.substr(colon + 3, question == std::string_view::npos ? question : question - colon - 3);
  if (result.place.empty() != (result.scheme == Scheme::env))
    reject(url, result.place.empty() ? "it names no place" : "env:// takes no place");
  if (question != std::string_view::npos)
    for (const auto parameter : split(url.substr(question + 1), '&')) read_parameter(url, parameter, result);
  return result;
}

template <typename T>
T require(const std::string& url, const char* name, const std::optional<T>& in_url,
          const std::optional<T>& in_options) {
  if (in_url && in_options && *in_url != *in_options)
    throw ConfigError(
        fmt::format("'{}' says {} {}, but the caller says {}", url, name, *in_url, *in_options));
  if (in_url) return *in_url;
  if (in_options) return *in_options;
  throw ConfigError(fmt::format("'{}' does not say the {}: add ?rank=R&size=N", url, name));
}

Placement read_place(const std::string& url, const RendezvousUrl& parsed, const JoinOptions& options) {
  if (parsed.scheme == Scheme::env) return read_placement(options.environment);
  Placement placement;
  placement.rank = require(url, "rank", parsed.rank, options.rank);
  placement.size = require(url, "size", parsed.size, options.size);
  if (placement.rank >= placement.size)
    throw ConfigError(fmt::format("'{}': rank {} is not one of {} ranks, which count from 0", url,
                                  placement.rank, placement.size));
  if (parsed.scheme == Scheme::tcp) placement.store = parse_host_port(parsed.place);
  return placement;
}

std::shared_ptr<Store> join_launchers_store(const Placement& placement, const World& world,
                                            Deadline deadline) {
  TcpStore::Options options{*placement.store, world.secret, {world.rank, placement.space}};
  options.timeout = world.timeout;
  return std::make_shared<TcpStore>(options, deadline);
}

// Fills in the store, the secret and the interface.
void meet(World& world, Placement& placement, const RendezvousUrl& url, const Environment& environment,
          Deadline deadline) {
  if (url.scheme != Scheme::file && !placement.store) {
    world.store = std::make_shared<MemoryStore>();
    world.secret = make_secret();
    return;
  }
  Meeting meeting{world.rank,   world.size,   world.interface, placement.local_size == world.size,
                  world.secret, world.timeout};
  if (url.scheme == Scheme::file) {
    placement.store.emplace();
    world.store = meet_through_file(url.place, meeting, *placement.store, deadline);
    world.secret = meeting.secret;
  } else {
    world.secret = meeting.secret = choose_secret(environment, placement.hosted ? "" : placement.job);
    world.store = placement.hosted ? join_launchers_store(placement, world, deadline)
                                   : meet_at(*placement.store, meeting, deadline);
  }
  if (world.interface.empty()) world.interface = interface_towards(*placement.store, meeting.all_on_host);
}

// A process may join more than once; each time makes a world with a name of its own.
void claim_rank(World& world) {
  const auto process = fmt::format("process {} of host {}", ::getpid(), host_identity());
  const auto key = fmt::format("process/{}", world.rank);
  const auto times = world.store->add(fmt::format("joined/{}", world.rank), 1);
  if (times == 1) {
    world.store->set(key, process);
    return;
  }
  const auto other = get_from(*world.store, world.rank, key, Deadline::after(world.timeout));
  if (other != process)
    throw ConfigError(
        fmt::format("two processes say they are rank {}: {} and {}", world.rank, other, process));
  world.name = fmt::format("world-{}", times);
}

void agree_on_size(const World& world, Deadline deadline) {
  if (world.rank == 0) return world.store->set("size", std::to_string(world.size));
  const auto size = get_from(*world.store, 0, "size", deadline);
  if (size != std::to_string(world.size))
    throw ConfigError(fmt::format("rank {} was told of {} ranks, but rank 0 of {}: all must be told the same",
                                  world.rank, world.size, size));
}

// Every rank says on which host it is, and counts those beside it.
void count_neighbours(World& world, const Placement& placement, Deadline deadline) {
  if (placement.local_rank && placement.local_size) {
    world.local_rank = *placement.local_rank;
    world.local_size = *placement.local_size;
    return;
  }
  const auto own = host_identity();
  world.store->set(fmt::format("host/{}", world.rank), own);
  world.local_rank = world.local_size = 0;
  for (Rank rank = 0; rank < world.size; ++rank) {
    if (get_from(*world.store, rank, fmt::format("host/{}", rank), deadline) != own) continue;
    if (rank == world.rank) world.local_rank = world.local_size;
    ++world.local_size;
  }
  world.local_rank = placement.local_rank.value_or(world.local_rank);
}

void wait_for_the_end_of(const World& world, Rank rank, Deadline deadline) {
  try {
    get_from(*world.store, rank, fmt::format("done/{}", rank), deadline);
  } catch (const Timeout& error) {
    if (awaited_in(error) != std::vector{rank}) throw;  // it is the store that does not answer
    const auto text = fmt::format("rank {} has ended its work and waited {} for rank {} to end its own",
                                  world.rank, format_seconds(world.timeout), rank);
    throw look_through(world, Overdue(text, {rank}));
  }
}

}  // namespace

World join(const std::string& url, const JoinOptions& options) {
  const auto parsed = parse_rendezvous_url(url);
  Placement placement = read_place(url, parsed, options);
  World world;
  world.rank = placement.rank;
  world.size = placement.size;
  world.timeout = options.timeout.value_or(read_timeout(options.environment));
  world.trusts_network = find_variable(options.environment, "GRADWIRE_TRUST_NETWORK").value_or("") == "1";
  world.interface = options.interface.empty()
                        ? find_variable(options.environment, "GRADWIRE_INTERFACE").value_or("")
                        : options.interface;
  const auto deadline = Deadline::after(world.timeout);
  meet(world, placement, parsed, options.environment, deadline);
  claim_rank(world);
  agree_on_size(world, deadline);
  count_neighbours(world, placement, deadline);
  return world;
}

void leave(const World& world, Leaving how) {
  auto& store = *world.store;
  const auto deadline = Deadline::after(world.timeout);
  const auto host = store.find("store/host");
  store.set(fmt::format("done/{}", world.rank), how == Leaving::done ? "done" : "unfinished");
  for (Rank rank = 0; rank < world.size; ++rank) wait_for_the_end_of(world, rank, deadline);
  // The last word of a rank that does not host the store: the host may be gone right after it.
  store.set(fmt::format("left/{}", world.rank), "bye");
  if (host != std::to_string(world.rank)) return;
  for (Rank rank = 0; rank < world.size; ++rank) {
    try {
      get_from(store, rank, fmt::format("left/{}", rank), deadline);
    } catch (const TransportError&) {
      // It has done its work, and needs the store no more.
    }
  }
}

}  // namespace gradwire

#include "launch/spawn.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/secret.h"
#include "launch/forked_rank.h"
#include "launch/idleness.h"
#include "net/address/socket.h"
#include "net/rendezvous/rendezvous.h"
#include "net/store/server.h"
#include "net/store/tcp.h"

namespace gradwire {
namespace {

using Ranks = std::vector<std::unique_ptr<ForkedRank>>;

// Forgets the ranks that have ended and returns what became of them. Waits until there is one.
std::vector<Outcome> take_ended(Ranks& ranks, Deadline deadline) {
  std::vector<pollfd> descriptors;
  for (const auto& rank : ranks) descriptors.push_back({rank->descriptor(), POLLIN, 0});
  if (::poll(descriptors.data(), descriptors.size(), deadline.remaining_ms()) < 0 && errno != EINTR)
    throw_system_error("poll");
  std::vector<Outcome> ended;
  std::erase_if(ranks, [&](const auto& rank) {
    const auto outcome = rank->find_outcome();
    if (outcome) ended.push_back(*outcome);
    return outcome.has_value();
  });
  return ended;
}

// A rank that lost a peer is not where the trouble began, even if it is the first to end.
bool is_a_consequence(const Outcome& outcome) { return outcome.peer >= 0; }

void note_failures(const std::vector<Outcome>& ended, std::optional<Outcome>& first) {
  for (const auto& outcome : ended)
    if (!outcome.ok() && (!first || (is_a_consequence(*first) && !is_a_consequence(outcome))))
      first = outcome;
}

// Whether all that run have had nothing left to do for too long, as they write it to the store. Belongs to one thread.
class Work {
 public:
  Work(const StoreServer& server, const std::string& secret, Seconds timeout)
      : store_({{server.address().host(), server.address().port()}, secret, {}}, Deadline::after(timeout)),
        idleness_(timeout) {}

  bool is_over(const Ranks& running) {
    return idleness_.is_enough(std::all_of(running.begin(), running.end(), [this](const auto& rank) {
      return store_.find(fmt::format("done/{}", rank->rank())) == "done";
    }));
  }

 private:
  TcpStore store_;
  Idleness idleness_;
};

// Until one has failed, all have ended, or those that run have nothing left to do.
std::optional<Outcome> wait_for_failure(Ranks& ranks, Work& work) {
  constexpr Seconds kOften = 0.5, kForTheCauseToShow = 1;
  std::optional<Outcome> failure;
  while (!ranks.empty() && !failure && !work.is_over(ranks))
    note_failures(take_ended(ranks, Deadline::after(kOften)), failure);
  const auto deadline = Deadline::after(kForTheCauseToShow);
  while (failure && is_a_consequence(*failure) && !ranks.empty() && !deadline.passed())
    note_failures(take_ended(ranks, deadline), failure);
  return failure;
}

void end_all(Ranks& ranks, Seconds grace) {
  for (const int number : {SIGTERM, SIGCONT})  // one that is stopped would not take notice
    for (const auto& rank : ranks) rank->signal(number);
  const auto deadline = Deadline::after(grace);
  while (!ranks.empty() && !deadline.passed()) take_ended(ranks, deadline);
  ranks.clear();
}

// What a child does: its own place in the world, without its parent's listener.
Outcome run_rank(const std::function<void(const World&)>& function, const JoinOptions& options, Rank rank) {
  return run_guarded(rank, [&] {
    const auto world = join("env://", options);
    function(world);
    leave(world);
  });
}

JoinOptions options_of(Rank rank, int ranks, const SocketAddress& store, const std::string& secret) {
  JoinOptions options;
  options.environment["RANK"] = options.environment["LOCAL_RANK"] = std::to_string(rank);
  options.environment["WORLD_SIZE"] = options.environment["LOCAL_WORLD_SIZE"] = std::to_string(ranks);
  options.environment["GRADWIRE_STORE"] = store.text();
  options.environment["GRADWIRE_SECRET"] = secret;
  return options;
}

Ranks fork_all(int count, const std::function<void(const World&)>& function, Fd& listener,
               const std::string& secret, Seconds timeout) {
  const auto store = local_address(listener.get());
  Ranks ranks;
  for (Rank rank = 0; rank < count; ++rank) {
    auto options = options_of(rank, count, store, secret);
    options.timeout = timeout;
    ranks.push_back(std::make_unique<ForkedRank>(rank, [&] {
      listener.reset();
      return run_rank(function, options, rank);
    }));
  }
  return ranks;
}

// A launcher has started this process as a rank: nobody is to be forked.
void run_as_started(const std::function<void(const World&)>& function, const SpawnOptions& options) {
  const World world = join("env://", {.timeout = options.timeout});
  function(world);
  leave(world);
}

}  // namespace

void spawn(int ranks, const std::function<void(const World&)>& function, const SpawnOptions& options) {
  if (ranks < 1) throw ConfigError(fmt::format("can't spawn {} ranks: write 1 or more", ranks));
  if (is_one_of_several(process_environment())) return run_as_started(function, options);
  const auto secret = make_secret();
  Fd listener = listen_at(SocketAddress::loopback());
  // The server's thread comes after the forks, its socket before them: no rank finds the door closed.
  Ranks running = fork_all(ranks, function, listener, secret, options.timeout);
  const StoreServer server(std::move(listener), secret);
  Work work(server, secret, options.timeout);
  const auto failure = wait_for_failure(running, work);
  end_all(running, options.grace);
  if (failure) throw Error(fmt::format("of {} ranks, {}", ranks, describe(*failure)));
}

}  // namespace gradwire

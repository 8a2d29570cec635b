#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"
#include "launch/forked_rank.h"
#include "net/rendezvous/rendezvous.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using Ranks = std::vector<std::unique_ptr<ForkedRank>>;

// A gate that this process opens for its children by closing its end of a pipe. Rank 0, which hosts the
// store, waits at it. Ranks don't leave() together, which would wait for one that is stopped or fails: each
// says that its end is no loss, and goes.
class Gate {
 public:
  Gate() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("pipe2");
    inside_ = Fd(ends[0]);
    outside_ = Fd(ends[1]);
  }
  void open() { outside_.reset(); }  // also what each child does first: its copy must not keep the gate shut
  void wait(Deadline deadline) const {
    pollfd entry{inside_.get(), POLLIN, 0};
    while (::poll(&entry, 1, deadline.remaining_ms()) < 0 && errno == EINTR) {
    }
  }

 private:
  Fd inside_, outside_;
};

void run_joined(const RankFunction& function, const std::string& url, Rank rank, const RunOptions& options,
                const Gate& gate) {
  if (options.before_join) options.before_join(rank);
  const auto world = join(url, {.rank = rank, .interface = options.interface, .timeout = options.timeout});
  // Also when it failed: ranks that end well want to say goodbye to its store.
  const auto stay = [&] { gate.wait(Deadline::after(options.deadline)); };
  try {
    function(world);
  } catch (...) {
    if (rank == 0) stay();
    throw;
  }
  if (rank == 0) return stay();
  world.store->set(fmt::format("left/{}", rank), "bye");
}

Outcome run_rank(Rank rank, const std::function<void()>& function) {
  const bool failed_before = testing::Test::HasFailure();
  auto outcome = run_guarded(rank, function);
  if (outcome.ok() && testing::Test::HasFailure() && !failed_before) outcome.kind = Outcome::Kind::failed;
  return outcome;
}

// Until each of the ranks has ended or, when all that are left are stopped, will never end.
void wait(std::span<const std::unique_ptr<ForkedRank>> ranks, Deadline deadline) {
  constexpr int kLookForStopped = 50;  // ms: nothing becomes readable when a process is stopped
  while (!deadline.passed()) {
    std::vector<pollfd> descriptors;
    bool all_stopped = true;
    for (const auto& rank : ranks) {
      if (rank->find_outcome()) continue;
      descriptors.push_back({rank->descriptor(), POLLIN, 0});
      all_stopped = all_stopped && rank->find_stop();
    }
    if (all_stopped) return;
    const int ready = ::poll(descriptors.data(), descriptors.size(), kLookForStopped);
    if (ready < 0 && errno != EINTR) throw_system_error("poll");
  }
}

Outcome final_outcome(ForkedRank& rank) {
  if (const auto outcome = rank.find_outcome()) return *outcome;
  Outcome outcome;
  outcome.rank = rank.rank();
  const auto stop = rank.find_stop();
  outcome.kind = stop ? Outcome::Kind::stopped : Outcome::Kind::hung;
  outcome.code = stop.value_or(0);
  return outcome;
}

}  // namespace

std::vector<Outcome> run_processes(int ranks, const RankFunction& function, const RunOptions& options) {
  const TempDir directory;
  const auto url = fmt::format("file://{}/meet?size={}", directory.path().string(), ranks);
  const auto deadline = Deadline::after(options.deadline);
  Gate gate;
  Ranks running;
  for (Rank rank = 0; rank < ranks; ++rank)
    running.push_back(std::make_unique<ForkedRank>(rank, [&] {
      gate.open();
      return run_rank(rank, [&] { run_joined(function, url, rank, options, gate); });
    }));
  wait(std::span(running).subspan(1), deadline);
  gate.open();
  wait(running, deadline);
  std::vector<Outcome> outcomes;
  for (const auto& rank : running) outcomes.push_back(final_outcome(*rank));
  return outcomes;
}

}  // namespace gradwire

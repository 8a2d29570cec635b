#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/mutex.h"
#include "base/secret.h"
#include "net/store/memory.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

// What the ranks have told so far. Shared by all their threads.
class Results {
 public:
  explicit Results(int ranks) : outcomes_(ranks), told_(ranks) {}

  void tell(const Outcome& outcome) {
    const Lock lock(mutex_);
    outcomes_[outcome.rank] = outcome;
    told_[outcome.rank] = true;
    ++count_;
    changed_.notify_all();
  }

  // A thread that hangs can't be ended without ending the program: better loudly than never.
  std::vector<Outcome> wait(Deadline deadline) {
    const Lock lock(mutex_);
    while (count_ < outcomes_.size() && !deadline.passed()) changed_.wait_until(mutex_, deadline);
    if (count_ == outcomes_.size()) return outcomes_;
    for (std::size_t rank = 0; rank < told_.size(); ++rank)
      fmt::print(stderr, "{}\n",
                 told_[rank] ? describe(outcomes_[rank])
                             : fmt::format("rank {} is still running at the deadline", rank));
    std::abort();
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<Outcome> outcomes_ GUARDED_BY(mutex_);
  std::vector<bool> told_ GUARDED_BY(mutex_);
  std::size_t count_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::vector<Outcome> run_threads(int ranks, const RankFunction& function, const RunOptions& options) {
  World world;
  world.size = world.local_size = ranks;
  world.secret = make_secret();
  world.timeout = options.timeout;
  world.store = std::make_shared<MemoryStore>();
  Results results(ranks);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    world.rank = world.local_rank = rank;
    threads.emplace_back(
        [&results, &function, world] { results.tell(run_guarded(world.rank, [&] { function(world); })); });
  }
  auto outcomes = results.wait(Deadline::after(options.deadline));
  for (auto& thread : threads) thread.join();
  return outcomes;
}

}  // namespace gradwire

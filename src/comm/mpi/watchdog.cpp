#include "comm/mpi/watchdog.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "base/deadline.h"
#include "base/error.h"

namespace gradwire {
namespace {

using Span = std::chrono::duration<double>;

// How long ranks that gave up wait for others to say that they did too.
constexpr Seconds kLateComers = 1;

}  // namespace

MpiWatchdog::MpiWatchdog(const World& world) : world_(world), looker_([this] { look(); }) {}

MpiWatchdog::~MpiWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  looker_.join();
}

// Every rank that gives up says so in the store; who does not is stopped, or never made the call.
std::string MpiWatchdog::missing_ranks(std::uint64_t call) const {
  if (!world_.store) return "the other ranks";
  const auto key = [&](Rank rank) { return fmt::format("{}/late/{}/{}", world_.name, call, rank); };
  std::vector<std::string> missing;
  try {
    world_.store->set(key(world_.rank), "late");
    const auto deadline = Deadline::after(kLateComers);
    for (Rank rank = 0; rank < world_.size; ++rank) {
      try {
        if (rank != world_.rank) world_.store->get(key(rank), deadline);
      } catch (const Timeout&) {
        missing.push_back(fmt::format("rank {}", world_.global(rank)));
      }
    }
  } catch (const Error& error) {
    return fmt::format("other ranks (and lost the store: {})", error.what());
  }
  return missing.empty() ? "all other ranks, which wait too" : fmt::format("{}", fmt::join(missing, ", "));
}

void MpiWatchdog::look() {
  const Span often(std::min(0.25, world_.timeout / 8));
  std::uint64_t seen = 0;
  Deadline deadline = Deadline::after(world_.timeout);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, often, [this] { return over_; })) {
    const auto now = moves_.load(std::memory_order_acquire);
    if (now != seen || now % 2 == 0) {
      seen = now;
      deadline = Deadline::after(world_.timeout);
    } else if (deadline.passed()) {
      const auto missing = missing_ranks(now);
      if (moves_.load(std::memory_order_acquire) != now) continue;  // they came after all
      fmt::print(stderr, "gradwire: rank {}: {} waited {} for {}\n", world_.global(world_.rank), what_.load(),
                 format_seconds(world_.timeout), missing);
      ::_exit(1);
    }
  }
}

void guard_exit(int status, Seconds timeout) {
  std::thread([status, timeout] {
    std::this_thread::sleep_for(Span(timeout));
    fmt::print(stderr, "gradwire: MPI_Finalize waited {} for other ranks; this one's work is done\n",
               format_seconds(timeout));
    ::_exit(status);
  }).detach();
}

}  // namespace gradwire

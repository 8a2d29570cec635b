#include "comm/mpi/watchdog.h"

#include <fmt/ranges.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace gradwire {
namespace {

using Span = std::chrono::duration<double>;

// How long ranks that gave up wait for others to say that they did too.
constexpr Seconds kLateComers = 1;

// A rank's death is said within a second, which takes two looks.
constexpr Seconds kLookEvery = 0.05;
constexpr Seconds kShortly = 1;  // for the store to answer

// The latter for mpirun to take notice: "123 (name) Z ...".
bool has_ended_or_waits(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string stat;
  std::getline(file, stat);
  const auto end = stat.rfind(") ");
  return end == std::string::npos || stat[end + 2] == 'Z' || stat[end + 2] == 'X';
}

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

// The store tells of a connection that closed, which is also how a rank ends whose work is done and that waits in
// MPI_Finalize: on this host one can look. What it writes of a process: "process 123 of host 9f86d081".
bool MpiWatchdog::is_dead(Rank rank, Deadline answer) const {
  if (world_.store->find(fmt::format("lost/{}", rank), answer).empty()) return false;
  const auto process = world_.store->find(fmt::format("process/{}", rank), answer);
  const auto words = split(process, ' ');
  const auto pid = words.size() > 1 ? find_integer<pid_t>(words[1]) : std::nullopt;
  if (!pid || !process.ends_with(" of host " + host_)) return false;
  return has_ended_or_waits(*pid);
}

std::optional<Rank> MpiWatchdog::find_dead() const {
  const auto answer = Deadline::after(kShortly);
  try {
    for (Rank rank = 0; world_.store && rank < world_.size; ++rank)
      if (rank != world_.rank && is_dead(world_.global(rank), answer)) return world_.global(rank);
  } catch (const TransportError&) {  // then the timeout has to do
  }
  return std::nullopt;
}

void MpiWatchdog::end_process(const std::string& why) const {
  say("gradwire", fmt::format("rank {}: {}", world_.global(world_.rank), why));
  ::_exit(1);
}

// A rank that computes while another dies has no call to leave, and mpirun may end it before its next one.
void MpiWatchdog::tell_of_dead() {
  if (told_of_ || !world_.store) return;
  try {
    if (world_.store->find("lost/earliest", Deadline::after(kShortly)).empty()) return;
    const auto dead = find_dead();
    if (!dead || !world_.store->find(fmt::format("done/{}", *dead), Deadline::after(kShortly)).empty())
      return;
    told_of_ = dead;
    say("gradwire",
        fmt::format("rank {}: rank {} is lost: its process is gone", world_.global(world_.rank), *dead));
  } catch (const TransportError&) {  // the next call has to do
  }
}

// Of a call that was under way at the look before.
void MpiWatchdog::check_call(std::uint64_t call, Deadline deadline) {
  const auto dead = find_dead();
  const auto missing = !dead && deadline.passed() ? missing_ranks(call) : std::string();
  if (moves_.load(std::memory_order_acquire) != call) return;  // they came after all
  if (dead && told_of_ == dead) ::_exit(1);
  if (dead) end_process(fmt::format("rank {} is lost: its process is gone during {}", *dead, what_.load()));
  if (!missing.empty())
    end_process(fmt::format("{} waited {} for {}", what_.load(), format_seconds(patience_.load()), missing));
}

void MpiWatchdog::look() {
  const Span often(std::min(kLookEvery, world_.timeout / 8));
  std::uint64_t seen = 0;
  Deadline deadline = Deadline::after(world_.timeout);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, often, [this] { return over_; })) {
    const auto now = moves_.load(std::memory_order_acquire);
    if (now == seen && now % 2 != 0) {
      check_call(now, deadline);
    } else {
      seen = now;
      deadline = Deadline::after(patience_.load());
      tell_of_dead();
    }
  }
}

void guard_exit(int status, Seconds timeout) {
  std::thread([status, timeout] {
    std::this_thread::sleep_for(Span(timeout));
    say("gradwire", fmt::format("MPI_Finalize waited {} for other ranks; this one's work is done",
                                format_seconds(timeout)));
    ::_exit(status);
  }).detach();
}

}  // namespace gradwire

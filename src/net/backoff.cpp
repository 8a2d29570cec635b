#include "net/backoff.h"

#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "net/exchange.h"

namespace gradwire {
namespace {

using namespace std::chrono_literals;

constexpr auto kSpinFor = 50us;     // about what blocking and being woken would cost
constexpr auto kYieldFor = 1500us;  // from the start; then nap
constexpr auto kCheckEvery = 250us;
constexpr auto kShortestNap = 50us, kLongestNap = 500us;
constexpr int kNapShare =
    16;  // a nap is this part of the time waited so far, so it delays a wait by 6 % at most

}  // namespace

bool Pause::step_slowly() {
  const auto now = Clock::now();
  if (!std::exchange(started_, true)) start_ = last_check_ = now;
  const auto waited = now - start_;
  if (spin_ && waited < kSpinFor) {
    spins_left_ = kSpinsPerLook;
  } else if (waited < kYieldFor) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(std::clamp<Clock::duration>(waited / kNapShare, kShortestNap, kLongestNap));
  }
  return check_is_due(now);
}

bool Pause::check_is_due(Clock::time_point now) {
  if (now - last_check_ < kCheckEvery) return false;
  last_check_ = now;
  return true;
}

Backoff backoff_for(const World& world, Deadline deadline) {
  const std::string host = host_identity() + "|";
  const auto everybody = exchange(
      world, "cores", deadline, [&] { return host + fmt::format("{}", fmt::join(usable_core_list(), ",")); });
  int ranks = 0;
  std::set<std::string, std::less<>> cores;
  for (const auto& text : everybody) {
    if (!text.starts_with(host)) continue;
    ++ranks;
    for (const auto core : split(std::string_view(text).substr(host.size()), ',')) cores.emplace(core);
  }
  return Backoff(ranks, static_cast<int>(cores.size()));
}

}  // namespace gradwire

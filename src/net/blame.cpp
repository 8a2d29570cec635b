#include "net/blame.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "base/deadline.h"
#include "base/text.h"

namespace gradwire {
namespace {

// Whoever waits loses patience at about the same moment, or is told by the first: so long they have to say so.
constexpr Seconds kToSpeak = 0.5, kToReachTheStore = 0.3;
constexpr std::chrono::milliseconds kBetweenLooks(10);
constexpr const char* kNobody = "nobody";

std::string key(Rank rank) { return fmt::format("waits/{}", rank); }

std::string names(const std::vector<Rank>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

std::vector<Rank> parse_ranks(const std::string& text) {
  std::vector<Rank> ranks;
  for (const auto word : split(text, ' '))
    if (const auto rank = find_integer<Rank>(word)) ranks.push_back(*rank);
  return ranks;
}

// Whom the ranks wait for, from one on.
struct Waits {
  std::map<Rank, std::vector<Rank>> said;
  std::vector<Rank> silent;
};

Waits follow(Store& store, Rank me, const std::vector<Rank>& awaited, Deadline answer) {
  Waits waits;
  std::set<Rank> seen = {me};
  std::vector<Rank> next = awaited;
  while (!next.empty()) {
    const Rank rank = next.back();
    next.pop_back();
    if (!seen.insert(rank).second) continue;
    const std::string word = store.find(key(rank), answer);
    if (word.empty()) {
      waits.silent.push_back(rank);
      continue;
    }
    const auto& theirs = waits.said[rank] = parse_ranks(word);
    next.insert(next.end(), theirs.begin(), theirs.end());
  }
  std::sort(waits.silent.begin(), waits.silent.end());
  return waits;
}

Waits ask_around(Store& store, Rank me, const std::vector<Rank>& awaited) {
  const auto deadline = Deadline::after(kToSpeak), answer = Deadline::after(kToSpeak + kToReachTheStore);
  store.set(key(me), awaited.empty() ? kNobody : fmt::format("{}", fmt::join(awaited, " ")), answer);
  for (;;) {
    Waits waits = follow(store, me, awaited, answer);
    if (waits.silent.empty() || deadline.passed()) return waits;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

// "; rank 0 waited for rank 2; rank 2 says nothing"
std::string describe(const Waits& waits) {
  std::string text;
  for (const auto& [rank, awaited] : waits.said)
    if (!awaited.empty()) text += fmt::format("; rank {} waited for {}", rank, names(awaited));
  if (!waits.silent.empty())
    text += fmt::format("; {} say{} nothing", names(waits.silent), waits.silent.size() == 1 ? "s" : "");
  return text;
}

}  // namespace

// Of two there is but one to blame.
Overdue look_through(const World& world, const Timeout& own) try {
  const Overdue as_it_is(own.what(), awaited_in(own));
  if (!world.store || (world.size < 3 && world.members.empty())) return as_it_is;
  const auto waits = ask_around(*world.store, world.global(world.rank), as_it_is.awaited());
  if (waits.said.empty()) return as_it_is;
  return {own.what() + describe(waits), waits.silent.empty() ? as_it_is.awaited() : waits.silent};
} catch (const std::exception&) {  // the store is gone or silent, and with it what the others say
  return {own.what(), awaited_in(own)};
}

void forget_waits(const World& world) {
  if (world.store && world.size > 1) world.store->set(key(world.global(world.rank)), "");
}

}  // namespace gradwire

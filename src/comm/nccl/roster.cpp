#include "comm/nccl/roster.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(10);
// When the cause is known nobody need be heard any more; but who keeps the store lets the others find out.
constexpr Seconds kAfterCause = 0.4;
constexpr char kTimedOut = 'T', kFailed = 'F';  // what the text of an alarm begins with

// Kernels before 5.3 have no process descriptors; then NCCL and the store alone tell of lost ranks.
bool can_watch_processes() {
  return static_cast<bool>(Fd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0))));
}

PeerWatch watch(const std::vector<RankCard>& cards, const RankCard& mine) {
  std::vector<pid_t> processes;
  const bool possible = can_watch_processes();
  for (const auto& card : cards) {
    const bool near = card.host == mine.host && card.process_space == mine.process_space;
    processes.push_back(possible && near ? card.process : 0);
  }
  return PeerWatch(processes);
}

std::string to_text(const Signature& call) { return {reinterpret_cast<const char*>(&call), sizeof call}; }

std::optional<Signature> find_signature(std::string_view text) {
  Signature call;
  if (text.size() != sizeof call) return std::nullopt;
  std::memcpy(&call, text.data(), sizeof call);
  return call;
}

}  // namespace

RankCard describe_this_process() {
  struct stat space {};
  if (::stat("/proc/self/ns/pid", &space) != 0) throw_system_error("stat /proc/self/ns/pid");
  RankCard card;
  card.host = host_identity();
  card.process_space = std::to_string(space.st_ino);
  card.process = getpid();
  return card;
}

// One line a field, the problem last: it may have several.
std::string encode(const RankCard& card) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", card.host, card.process_space, card.process, card.device,
                     card.gpu, card.problem);
}

RankCard decode(std::string_view text) {
  const auto lines = split(text, '\n');
  check(lines.size() >= 6, "a rank's card in the store is cut short");
  RankCard card;
  card.host = lines[0];
  card.process_space = lines[1];
  card.process = find_integer<pid_t>(lines[2]).value_or(0);
  card.device = find_integer<int>(lines[3]).value_or(0);
  card.gpu = lines[4];
  card.problem = text.substr(static_cast<std::size_t>(lines[5].data() - text.data()));
  return card;
}

void check_placement(const std::vector<RankCard>& cards) {
  for (std::size_t rank = 0; rank < cards.size(); ++rank)
    if (!cards[rank].problem.empty())
      throw ConfigError(fmt::format("rank {} can't use NCCL: {}", rank, cards[rank].problem));
  std::map<std::pair<std::string, std::string>, std::size_t> taken;
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const auto& card = cards[rank];
    const auto [first, is_new] = taken.try_emplace({card.host, card.gpu}, rank);
    if (is_new) continue;
    throw ConfigError(fmt::format(
        "ranks {} and {} are both on the GPU at {} (GPU {} and GPU {} of their processes), but NCCL needs "
        "one "
        "for each rank: write make_nccl(world), which takes GPU world.local_rank, or start at most as many "
        "ranks as there are GPUs",
        first->second, rank, card.gpu, cards[first->second].device, card.device));
  }
}

Roster::Roster(const World& world, const RankCard& mine) : world_(world), cards_(gather(mine)) {
  check_placement(cards_);
  const Lock lock(mutex_);
  watch_ = watch(cards_, mine);
}

std::string Roster::key(std::string_view what, Rank rank) const {
  return fmt::format("nccl/{}/{}/{}", world_.name, what, rank);
}

std::vector<RankCard> Roster::gather(const RankCard& mine) {
  if (world_.size == 1) return {mine};
  if (!world_.store) throw ConfigError("a world of several ranks needs a store to make an nccl communicator");
  world_.store->set(key("card", world_.rank), encode(mine));
  const Deadline deadline = Deadline::after(world_.timeout);
  std::vector<RankCard> cards;
  try {
    for (Rank rank = 0; rank < world_.size; ++rank)
      cards.push_back(decode(get_from(*world_.store, rank, key("card", rank), deadline)));
  } catch (const Timeout&) {  // it knows of one rank; all that are missing help more
    throw Timeout(fmt::format("rank {} waited {} for the nccl communicator '{}': {}", world_.rank,
                              format_seconds(world_.timeout), world_.name, missing_ranks("card")));
  }
  return cards;
}

std::string Roster::missing_ranks(std::string_view what) const {
  std::vector<std::string> missing;
  for (Rank rank = 0; rank < world_.size; ++rank)
    if (world_.store->find(key(what, rank)).empty()) missing.push_back(std::to_string(rank));
  return fmt::format("{} of {} ranks came; not yet: rank{} {}",
                     world_.size - static_cast<int>(missing.size()), world_.size,
                     missing.size() == 1 ? "" : "s", join(missing, ", "));
}

std::string Roster::share(std::string_view what, const std::string& text_of_rank_0) {
  if (world_.size == 1) return text_of_rank_0;
  if (world_.rank == 0) world_.store->set(key(what, 0), text_of_rank_0);
  return get_from(*world_.store, 0, key(what, 0), Deadline::after(world_.timeout));
}

std::optional<Rank> Roster::find_ended() {
  const Lock lock(mutex_);
  return watch_.find_dead();
}

bool Roster::has_ended(Rank rank) {
  const Lock lock(mutex_);
  return watch_.is_dead(rank);
}

void Roster::check_same_call(const Signature& call) {
  if (world_.size == 1) return;
  const auto what = fmt::format("call {}", call.sequence);
  world_.store->set(key(what, world_.rank), to_text(call));
  const Deadline deadline = Deadline::after(world_.timeout);
  for (Rank rank = 0; rank < world_.size; ++rank) {
    const auto theirs = find_signature(get_from(*world_.store, rank, key(what, rank), deadline));
    if (theirs && *theirs != call) throw Mismatch(describe_mismatch(world_.rank, call, rank, *theirs));
  }
}

std::optional<Roster::Alarm> Roster::find_alarm() {
  if (world_.size == 1) return std::nullopt;
  try {
    const auto text = world_.store->find(key("alarm", 0));
    if (text.empty()) return std::nullopt;
    return Alarm{text[0] == kTimedOut, text.substr(1)};
  } catch (const Error&) {  // whoever kept the store may have ended well, and the call may still do
    return std::nullopt;
  }
}

Roster::Account Roster::take_account(const Signature& call, const Alarm& alarm, Deadline moment) {
  Account account{.stuck = std::vector<std::optional<Signature>>(static_cast<std::size_t>(world_.size)),
                  .gone = {},
                  .left = {}};
  account.stuck[static_cast<std::size_t>(world_.rank)] = call;
  if (world_.size == 1) return account;
  try {
    tell(call, alarm);
    while (!listen(account) && !moment.passed()) {
      if (account.gone && moment.remaining() > kAfterCause) moment = Deadline::after(kAfterCause);
      std::this_thread::sleep_for(kBetweenLooks);
    }
    world_.store->set(key("accounted", world_.rank), "1");
    while (!all_accounted(account) && !moment.passed()) std::this_thread::sleep_for(kBetweenLooks);
  } catch (const PeerLost& lost) {  // the rank that kept the store
    const bool is_one_of_us = lost.peer() >= 0 && lost.peer() < world_.size;
    const bool told = is_one_of_us && account.stuck[static_cast<std::size_t>(lost.peer())];
    if (!account.gone && is_one_of_us && !told) account.gone = lost.peer();
  } catch (const Error&) {  // no store any more: what was heard before and what this host knows must do
    for (Rank rank = 0; rank < world_.size; ++rank)
      if (!account.stuck[static_cast<std::size_t>(rank)] && has_ended(rank)) account.gone = rank;
  }
  return account;
}

// Nobody goes before all that are still here have the same picture: the store may end with the rank that
// keeps it.
bool Roster::all_accounted(const Account& account) {
  for (Rank rank = 0; rank < world_.size; ++rank)
    if (account.stuck[static_cast<std::size_t>(rank)] && world_.store->find(key("accounted", rank)).empty())
      return false;
  return true;
}

void Roster::tell(const Signature& call, const Alarm& alarm) {
  world_.store->set(key("stuck", world_.rank), to_text(call));
  raise_alarm(alarm);
}

void Roster::raise_alarm(const Alarm& alarm) {
  if (world_.size == 1 || find_alarm()) return;
  world_.store->set(key("alarm", 0), fmt::format("{}rank {}: {}", alarm.timed_out ? kTimedOut : kFailed,
                                                 world_.rank, alarm.text));
}

void Roster::leave(const std::string& why) {
  if (world_.size == 1) return;
  world_.store->set(key("left", world_.rank), why);
  raise_alarm({.timed_out = false, .text = why});
}

// True when every rank has told where it is stuck, has left or is gone. Whether it is gone is asked first: what it
// told before is there then.
bool Roster::listen(Account& account) {
  bool complete = true;
  for (Rank rank = 0; rank < world_.size; ++rank) {
    auto& word = account.stuck[static_cast<std::size_t>(rank)];
    if (word) continue;
    const bool gone = has_ended(rank) || !world_.store->find(fmt::format("lost/{}", rank)).empty();
    word = find_signature(world_.store->find(key("stuck", rank)));
    if (word) continue;
    const bool left = !world_.store->find(key("left", rank)).empty();
    if (left)
      account.left = rank;
    else if (gone)
      account.gone = rank;
    complete = complete && (left || gone);
  }
  return complete;
}

std::string Roster::describe(Rank rank) const {
  const auto& card = cards_[static_cast<std::size_t>(rank)];
  return fmt::format("rank {} (process {}, GPU {} at {})", rank, card.process, card.device, card.gpu);
}

}  // namespace gradwire

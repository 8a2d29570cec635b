#include "comm/shm/group.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

#include "base/error.h"
#include "net/backoff.h"
#include "net/overdue.h"
#include "net/shm/ring.h"

namespace gradwire {
namespace {

// Room for two windows of every rank's part and two windows of results, see staged.cpp.
std::size_t stage_bytes(int ranks) {
  const std::size_t window = round_up(kStageBytes / static_cast<std::size_t>(ranks), kLine);
  return 2 * (static_cast<std::size_t>(ranks) + 1) * window;
}

std::size_t shelf_bytes(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(Shelf); }

// Blocks lie an odd number of pages apart: equal offsets in two of them then never share their low address
// bits.
std::size_t block_spacing(int ranks) {
  constexpr std::size_t kPage = 4096;
  return round_up(sizeof(Block) + shelf_bytes(ranks) + stage_bytes(ranks), 2 * kPage) + kPage;
}

// Behind all blocks, at a page: a ring for every ordered pair. They are made present by being used.
constexpr std::size_t kRingBytes = Ring::bytes_for(256 << 10);
std::size_t rings_offset(int ranks) {
  constexpr std::size_t kPage = 4096;
  return round_up(sizeof(Header) + static_cast<std::size_t>(ranks) * block_spacing(ranks), kPage);
}

Segment share_segment(const World& world, const PeerWatch& watch, Deadline deadline) {
  const std::string key = world.name + "/shm/segment";
  const std::size_t ranks = static_cast<std::size_t>(world.size), used = rings_offset(world.size);
  if (world.rank != 0)
    return open_segment_of(0, SegmentName::parse(get_from(*world.store, world.global(0), key, deadline)), 0,
                           {watch, world.names()});
  Segment segment = Segment::create(used + ranks * ranks * kRingBytes, 0, used);
  world.store->set(key, segment.name().text());
  return segment;
}

PeerWatch watch_peers(const World& world, Deadline deadline) {
  const auto key = [&](Rank rank) { return fmt::format("{}/shm/pid/{}", world.name, rank); };
  world.store->set(key(world.rank), std::to_string(::getpid()));
  std::vector<pid_t> processes(world.size, 0);
  for (Rank rank = 0; rank < world.size; ++rank)
    if (rank != world.rank)
      processes[rank] = std::stoi(get_from(*world.store, world.global(rank), key(rank), deadline));
  return PeerWatch(processes, world.names());
}

}  // namespace

// What a wait needs once it lasts; the deadline starts at the first look, so that short waits read no clock.
struct Group::Wait {
  std::optional<Deadline> deadline;
};

Group::Group(const World& world)
    : world_(world),
      rank_(world.rank),
      backoff_(backoff_for(world, Deadline::after(world.timeout))),
      timeout_(world.timeout) {
  const Deadline deadline = Deadline::after(world.timeout);
  watch_ = watch_peers(world, deadline);
  segment_ = share_segment(world, watch_, deadline);
  std::byte* const base = segment_.bytes().data();
  header_ = reinterpret_cast<Header*>(base);
  for (Rank rank = 0; rank < world.size; ++rank) {
    std::byte* const place =
        base + sizeof(Header) + static_cast<std::size_t>(rank) * block_spacing(world.size);
    blocks_.push_back(reinterpret_cast<Block*>(place));
    shelves_.push_back(reinterpret_cast<Shelf*>(place + sizeof(Block)));
    stages_.emplace_back(place + sizeof(Block) + shelf_bytes(world.size), stage_bytes(world.size));
  }
  mine().joined.store(true, std::memory_order_release);
  try {
    await_each([](const Block& block) { return block.joined.load(std::memory_order_acquire); });
  } catch (const Error& error) {
    tell(error);
    throw;
  }
}

Group::~Group() { mine().left.store(true, std::memory_order_release); }

void Group::arrive(const Signature& call) {
  Mailbox& mailbox = next_mailbox();
  mailbox.signature = call;
  call_ = call;
  ++round_;
  mailbox.stamp.store(round_, std::memory_order_release);
  const std::uint64_t round = round_;
  await_each([round](const Block& block) {
    return block.mailboxes[round & 1].stamp.load(std::memory_order_acquire) >= round;
  });
  check_signatures(call);
}

void Group::await_all(Counter Block::*counter, std::uint64_t value) {
  await_each([counter, value](const Block& block) {
    return (block.*counter).load(std::memory_order_acquire) >= value;
  });
}

// A token goes round the ranks; the shortest lap counts, because a longer one tells of an interruption.
std::optional<Seconds> Group::measure_distance() {
  if (!backoff_.spins() || size() < 2) return std::nullopt;
  constexpr int kLaps = 4;
  const Rank before = (rank_ + size() - 1) % size();
  Seconds shortest = std::numeric_limits<Seconds>::infinity();
  auto last = std::chrono::steady_clock::now();
  for (int lap = 0; lap < kLaps; ++lap) {
    const std::uint64_t token = rank_ == 0 ? laps_ : laps_ + 1;  // rank 0 sends it off
    await(before,
          [token](const Block& block) { return block.laps.load(std::memory_order_acquire) >= token; });
    post(&Block::laps, ++laps_);
    const auto now = std::chrono::steady_clock::now();
    if (lap > 0) shortest = std::min(shortest, std::chrono::duration<Seconds>(now - last).count());
    last = now;
  }
  return shortest / size();
}

template <typename Reached>
void Group::await_each(const Reached& reached) {
  for (Rank peer = 0; peer < size(); ++peer)
    if (peer != rank_) await(peer, reached);
}

template <typename Reached>
void Group::await(Rank peer, const Reached& reached) {
  Wait wait;
  backoff_.wait([&] { return reached(block(peer)); }, [&] { give_up_if_hopeless(wait, reached); });
}

// Looks at all ranks, not only the one waited for. A rank that has died after it did its part is no reason to
// give up, hence the second look at `reached` once it is known to be dead.
template <typename Reached>
void Group::give_up_if_hopeless(Wait& wait, const Reached& reached) {
  if (cancelled_.load(std::memory_order_relaxed))
    throw Cancelled(
        fmt::format("rank {} gave up {}: its communicator is being destroyed", me(), while_in_call()));
  check_signatures(call_);
  const auto told = find_told();
  std::vector<Rank> late;
  for (Rank peer = 0; peer < size(); ++peer) {
    if (peer == rank_ || reached(block(peer))) continue;
    if (!told && is_gone(peer) && !reached(block(peer))) throw_lost(peer);
    late.push_back(world_.global(peer));
  }
  const auto waits = [&] {
    return fmt::format("rank{} {} {}", late.size() > 1 ? "s" : "", fmt::join(late, ", "), while_in_call());
  };
  if (told) told->seen_by(me(), late, waits()).raise(me());
  if (!wait.deadline) wait.deadline = Deadline::after(timeout_);
  if (!late.empty() && wait.deadline->passed())
    throw Overdue(fmt::format("rank {} waited {} for {}", me(), format_seconds(timeout_), waits()), late);
}

Segment Group::open_segment(Rank owner, const SegmentName& name) {
  try {
    return open_segment_of(owner, name, owner, {watch_, world_.names()});
  } catch (const PeerLost&) {
    throw_lost(owner);
  }
}

// One that dies while it tells leaves the others to find out for themselves.
void Group::tell(const Fault& fault) noexcept {
  try {
    const auto text = fault.encode();
    int state = Header::whole;
    if (!header_->state.compare_exchange_strong(state, Header::being_told)) return;
    header_->bytes = static_cast<std::uint32_t>(text.size());
    std::memcpy(header_->fault, text.data(), text.size());
    header_->state.store(Header::told, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    // Then nothing can be told.
  }
}

std::optional<Fault> Group::find_told() const {
  if (header_->state.load(std::memory_order_acquire) != Header::told) return std::nullopt;
  return Fault::decode({header_->fault, std::min<std::size_t>(header_->bytes, sizeof header_->fault)});
}

bool Group::is_gone(Rank peer) const {
  return watch_.is_dead(peer) || block(peer).left.load(std::memory_order_acquire);
}

std::span<std::byte> Group::ring(Rank from, Rank to) const {
  const std::size_t pair = static_cast<std::size_t>(from) * blocks_.size() + static_cast<std::size_t>(to);
  return segment_.bytes().subspan(rings_offset(size()) + pair * kRingBytes, kRingBytes);
}

// A rank that has announced the next round waits there for this one.
std::optional<Fault> Group::find_fault(Rank peer) const {
  const bool gone = is_gone(peer);  // asked first: who leaves has told why before
  if (auto told = find_told()) return told;
  const Rank name = world_.global(peer);
  if (gone)
    return Fault{
        Fault::Kind::peer_lost, me(), name,
        fmt::format("rank {} {} while rank {} waited for a message with it", name,
                    block(peer).left.load(std::memory_order_acquire) ? "closed its communicator" : "died",
                    me())};
  const Mailbox& next = block(peer).mailboxes[(round_ + 1) & 1];
  if (next.stamp.load(std::memory_order_acquire) != round_ + 1) return std::nullopt;
  return Fault{Fault::Kind::mismatch, me(), -1,
               fmt::format("ranks disagree: rank {} waits for a message with rank {}, but rank {} is in {}",
                           me(), name, name, describe(next.signature))};
}

void Group::await_taken(Rank by, std::uint64_t count) {
  const auto done = [&] { return taken(by, rank_).load(std::memory_order_acquire) >= count; };
  std::optional<Deadline> deadline;
  backoff_.wait(done, [&] {
    if (cancelled_.load(std::memory_order_relaxed))
      throw Cancelled(fmt::format("rank {} gave up a message to rank {}", me(), world_.global(by)));
    const auto fault = find_fault(by);
    const auto waits = [&] { return fmt::format("rank {} to take a message", world_.global(by)); };
    if (fault && !done()) fault->seen_by(me(), {world_.global(by)}, waits()).raise(me());
    if (!deadline) deadline = Deadline::after(timeout_);
    if (deadline->passed())
      throw Overdue(fmt::format("rank {} waited {} for {}", me(), format_seconds(timeout_), waits()),
                    {world_.global(by)});
  });
}

// Who leaves has told why before, if there was a reason: that counts more.
void Group::throw_lost(Rank peer) const {
  if (const auto told = find_told()) told->raise(me());
  const bool left = block(peer).left.load(std::memory_order_acquire);
  const Rank name = world_.global(peer);
  throw PeerLost(name, fmt::format("rank {} {} while rank {} waited {}", name,
                                   left ? "closed its communicator" : "died", me(), while_in_call()));
}

void Group::check_signatures(const Signature& call) const {
  for (Rank peer = 0; peer < size() && round_ > 0; ++peer) {
    const Mailbox& theirs = block(peer).mailboxes[round_ & 1];
    if (theirs.stamp.load(std::memory_order_acquire) == round_ && theirs.signature != call) [[unlikely]]
      throw Mismatch(describe_mismatch(me(), call, world_.global(peer), theirs.signature));
  }
}

std::string Group::while_in_call() const {
  return round_ == 0 ? "to form the group" : fmt::format("in {}", describe(call_));
}

}  // namespace gradwire

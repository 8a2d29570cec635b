// The ranks of one host as one of them sees them: announces calls, waits for the others, and notices that a
// wait is hopeless. A call is a round: arrive() announces it and returns when every rank has announced the
// same; the counters of Block order what follows. Messages between two ranks are no rounds: each ordered pair has a ring
// (wire.h). Belongs to one thread at a time, except cancel().
//
// No wait outlasts its timeout. A rank that dies is named to every waiting rank, also to those that wait for
// another; and whatever else makes one rank give up, the others that wait give up for the same reason.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "comm/shm/control.h"
#include "net/backoff.h"
#include "net/shm/peer_watch.h"
#include "net/world.h"

namespace gradwire {

class Group {
 public:
  explicit Group(const World& world);  // returns when all ranks are in; throws Timeout naming who is not
  ~Group();

  Rank rank() const { return rank_; }
  int size() const { return static_cast<int>(blocks_.size()); }
  Block& mine() { return *blocks_[rank_]; }
  const Block& block(Rank rank) const { return *blocks_[rank]; }
  // The part of the segment behind a rank's block: its own to write, for others to read.
  std::span<std::byte> stage(Rank rank) const { return stages_[rank]; }
  std::span<std::byte> ring(Rank from, Rank to) const;
  Counter& taken(Rank by, Rank of) const { return shelves_[by][of].taken; }
  const World& world() const { return world_; }
  const Backoff& backoff() const { return backoff_; }

  // Announces a call; the caller fills the payload before. arrive() throws Mismatch when ranks announce
  // different ones.
  std::byte* next_payload() { return next_mailbox().payload; }
  void arrive(const Signature& call);
  const std::byte* payload(Rank rank) const { return block(rank).mailboxes[round_ & 1].payload; }
  std::uint64_t round() const { return round_; }

  // Sets a counter of this rank's; waits until every rank's (or one's) has reached a value.
  void post(Counter Block::*counter, std::uint64_t value) {
    (mine().*counter).store(value, std::memory_order_release);
  }
  void await_all(Counter Block::*counter, std::uint64_t value);
  // Waits until a rank has taken so many messages from this one's memory.
  void await_taken(Rank by, std::uint64_t count);
  // Of every wait until it is set again; 0: the world's.
  void set_timeout(Seconds timeout) { timeout_ = timeout > 0 ? timeout : world_.timeout; }

  // Why this rank can't go on while it waits for a message with `peer`: what was told, that the peer is gone, or that it is in a
  // call that needs this rank too. What the peer did before must be looked at after this: it may have done its part.
  std::optional<Fault> find_fault(Rank peer) const;

  // How long a cache line takes from one rank's core to the next one's, or nothing where ranks outnumber
  // cores. All ranks call it at the same place; each gets its own reading. Costs four times round the ranks.
  std::optional<Seconds> measure_distance();

  // A segment of a rank's own, here. Throws PeerLost, and tells all, when that rank has died.
  Segment open_segment(Rank owner, const SegmentName& name);

  // Why this rank gives up, for the others; the first of all counts. Not for Cancelled: that it closes is told
  // by its block.
  void tell(const std::exception& error) noexcept { tell(Fault::of(error, me())); }
  void tell(const Fault& fault) noexcept;

  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  struct Wait;
  Mailbox& next_mailbox() { return mine().mailboxes[(round_ + 1) & 1]; }
  template <typename Reached>
  void await(Rank peer, const Reached& reached);
  template <typename Reached>
  void await_each(const Reached& reached);
  template <typename Reached>
  void give_up_if_hopeless(Wait& wait, const Reached& reached);
  void check_signatures(const Signature& call) const;
  std::optional<Fault> find_told() const;
  bool is_gone(Rank peer) const;
  [[noreturn]] void throw_lost(Rank peer) const;
  Rank me() const { return world_.global(rank_); }  // in messages
  std::string while_in_call() const;

  const World world_;
  const Rank rank_;
  const Backoff backoff_;
  Seconds timeout_;
  Segment segment_;
  Header* header_ = nullptr;
  std::vector<Block*> blocks_;
  std::vector<Shelf*> shelves_;
  std::vector<std::span<std::byte>> stages_;
  PeerWatch watch_;
  std::uint64_t round_ = 0, laps_ = 0;
  Signature call_;  // of the current round, for messages
  std::atomic<bool> cancelled_ = false;
};

}  // namespace gradwire

// The memory through which the ranks of a shm communicator speak: one Block a rank, written by that rank
// alone and read by the others, and a Header for all. Plain data in a shared segment; group.h gives it
// meaning.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/collective.h"
#include "net/fault.h"
#include "net/shm/segment.h"

namespace gradwire {

inline constexpr std::size_t kLine = 64;               // what cores exchange
inline constexpr std::size_t kInlineBytes = 32 << 10;  // a contribution up to this may travel in the mailbox
inline constexpr std::size_t kStageBytes = 1 << 20;    // what a rank stages of its contribution at a time
inline constexpr int kRegions = 512;  // blocks of communicator memory a rank may hold at a time

using Counter = std::atomic<std::uint64_t>;
static_assert(Counter::is_always_lock_free);

// Where a large contribution lies when it is in communicator memory; region 0 means that it is not.
struct Place {
  std::uint64_t region = 0;  // counts the owner's allocations from 1
  std::uint64_t offset = 0;
  SegmentName segment;
};

inline constexpr std::size_t kDataOffset = 96;  // in a payload: behind a Place, where a line begins
static_assert(sizeof(Place) <= kDataOffset);

// A rank's announcement of a call. The stamp is the call's round; with the signature and the first 32 bytes
// of the contribution it fills one line, so that a small all-reduce costs each pair of ranks one line's
// journey.
struct alignas(kLine) Mailbox {
  Counter stamp;
  Signature signature;
  std::byte payload[kDataOffset + kInlineBytes];
};
static_assert((offsetof(Mailbox, payload) + kDataOffset) % kLine == 0);

struct Block {
  Mailbox mailboxes[2];                   // rounds alternate: the other one may still be read by a slow rank
  alignas(kLine) Counter staged;          // windows whose contribution of this rank is in its stage
  alignas(kLine) Counter owned;           // windows this rank has finished its own slice of
  alignas(kLine) Counter laps;            // how often the token of measure_distance() has passed this rank
  alignas(kLine) Counter finished;        // rounds in which this rank no longer reads others' memory
  alignas(kLine) Counter live[kRegions];  // the regions in use; peers drop their mappings of the others
  alignas(kLine) std::atomic<bool> joined, left;
};

// Of a rank, for each other one: how many messages of that one, left in its own memory, it has taken.
struct alignas(kLine) Shelf {
  Counter taken;
};

// Why the group broke, told by the first rank that gave up to those that still wait.
struct Header {
  enum State : int { whole, being_told, told };
  alignas(kLine) std::atomic<int> state;
  std::uint32_t bytes;
  char fault[Fault::kLongest];
};

}  // namespace gradwire

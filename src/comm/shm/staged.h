// Collectives on memory the other ranks can't see: contributions and results pass through each rank's stage,
// a window at a time. Part of the shm backend.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "comm/communicator.h"
#include "comm/kernels/kernels.h"
#include "comm/shm/group.h"

namespace gradwire {

// Runs the call of the group's current round. `windows` counts the windows of the communicator's life; all
// ranks agree on it. A call whose input is ordinary memory may stage its first window before arrive(), saving
// a wait.
class Staged {
 public:
  Staged(Group& group, Isa isa, std::uint64_t& windows);
  void begin(const Call& call);  // before or after arrive()
  void run();                    // after it

 private:
  struct Range {
    std::size_t first = 0, bytes = 0;
  };
  Range slice(Rank owner) const;                    // of the logical buffer: what `owner` finishes
  Range window(Rank owner, std::uint64_t j) const;  // of that slice, the j-th window
  std::span<std::byte> part(Rank of, Rank to, std::uint64_t j) const;
  std::span<std::byte> result(Rank of, std::uint64_t j) const;

  void look_at_distance();
  void hand_over(std::byte* to, const std::byte* from, std::size_t bytes) const;
  void stage(std::uint64_t j);
  void own(std::uint64_t j);
  void take(std::uint64_t j);
  void combine_own(Range range, std::uint64_t j);
  void spread_own(Range range, std::uint64_t j);
  void exchange(std::uint64_t j);

  Group& group_;
  const Isa isa_;
  std::uint64_t& windows_;
  const std::size_t window_bytes_;
  Call call_;
  std::size_t total_ = 0;     // bytes of the logical buffer that slices divide
  std::uint64_t count_ = 0;   // windows of this call
  bool near_ = false;         // the ranks' cores share a cache, or did when last looked at
  std::uint64_t looked_ = 0;  // in which window that was
  std::vector<const std::byte*> sources_;
  std::array<std::byte, 16 << 10> block_;  // of a result that this rank does not keep
};

}  // namespace gradwire

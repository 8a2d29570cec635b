// Communicator memory: blocks this rank gave out, and the peers' blocks it has mapped.
//
// allocate() may be called from any thread; the rest belongs to the thread that runs the communicator. A
// block ends with its last owner; peers drop their mapping of it when they next map a new one.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "comm/memory.h"
#include "comm/shm/group.h"

namespace gradwire {

class Registry {
 public:
  explicit Registry(std::shared_ptr<Group> group);
  Memory allocate(std::size_t bytes);

  // Where these bytes lie, with region 0 when they are not (wholly) in memory given out here.
  Place find(std::span<const std::byte> bytes) const;
  // A peer's place in this process.
  std::byte* map(Rank owner, const Place& place);

 private:
  class Owned;  // the blocks given out; shared with their Memory
  void drop_dead_mappings(Rank owner);

  std::shared_ptr<Group> group_;
  std::shared_ptr<Owned> owned_;
  std::vector<std::map<std::uint64_t, Segment>> mapped_;  // by owner, by region
};

}  // namespace gradwire

#include "comm/shm/registry.h"

#include <algorithm>

#include "base/error.h"

namespace gradwire {

class Registry::Owned {
 public:
  explicit Owned(std::shared_ptr<Group> group) : group_(std::move(group)) {}

  std::uint64_t add(Segment segment) {
    const Lock lock(mutex_);
    const int slot = free_slot();
    const std::uint64_t region = ++regions_;
    group_->mine().live[slot].store(region, std::memory_order_release);
    blocks_[region] = {slot, std::move(segment)};
    return region;
  }

  void remove(std::uint64_t region) {
    const Lock lock(mutex_);
    group_->mine().live[blocks_[region].slot].store(0, std::memory_order_release);
    blocks_.erase(region);
  }

  Place find(std::span<const std::byte> bytes) const {
    const Lock lock(mutex_);
    for (const auto& [region, block] : blocks_) {
      const auto memory = block.segment.bytes();
      if (bytes.data() >= memory.data() && bytes.data() + bytes.size() <= memory.data() + memory.size())
        return {region, static_cast<std::uint64_t>(bytes.data() - memory.data()), block.segment.name()};
    }
    return {};
  }

 private:
  struct Entry {
    int slot = 0;
    Segment segment;
  };

  int free_slot() const REQUIRES(mutex_) {
    const auto& live = group_->mine().live;
    const auto* slot =
        std::find_if(std::begin(live), std::end(live), [](const Counter& c) { return c.load() == 0; });
    if (slot == std::end(live))
      throw ConfigError(fmt::format(
          "a rank can hold {} blocks of communicator memory at a time; allocate fewer, larger ones",
          kRegions));
    return static_cast<int>(slot - std::begin(live));
  }

  const std::shared_ptr<Group> group_;
  mutable Mutex mutex_;
  std::uint64_t regions_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, Entry> blocks_ GUARDED_BY(mutex_);
};

Registry::Registry(std::shared_ptr<Group> group)
    : group_(std::move(group)), owned_(std::make_shared<Owned>(group_)), mapped_(group_->size()) {}

Memory Registry::allocate(std::size_t bytes) {
  Segment segment = Segment::create(std::max<std::size_t>(bytes, 1), group_->rank());
  const std::span<std::byte> memory = segment.bytes().first(bytes);
  const std::uint64_t region = owned_->add(std::move(segment));
  return {memory,
          std::shared_ptr<void>(memory.data(), [owned = owned_, region](void*) { owned->remove(region); })};
}

Place Registry::find(std::span<const std::byte> bytes) const { return owned_->find(bytes); }

std::byte* Registry::map(Rank owner, const Place& place) {
  auto& segments = mapped_[owner];
  auto found = segments.find(place.region);
  if (found == segments.end()) {
    drop_dead_mappings(owner);
    found = segments.emplace(place.region, group_->open_segment(owner, place.segment)).first;
  }
  return found->second.bytes().data() + place.offset;
}

void Registry::drop_dead_mappings(Rank owner) {
  const auto& live = group_->block(owner).live;
  std::erase_if(mapped_[owner], [&](const auto& mapping) {
    return std::none_of(std::begin(live), std::end(live),
                        [&](const Counter& c) { return c.load() == mapping.first; });
  });
}

}  // namespace gradwire

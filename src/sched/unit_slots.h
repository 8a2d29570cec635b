// Which of a few buffers whole units lie in: of those that are not in use, the one goes that was used longest ago. A function
// of the order of uses alone. Belongs to one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace gradwire {

class UnitSlots {
 public:
  explicit UnitSlots(int capacity) : slots_(static_cast<std::size_t>(capacity), -1), used_(slots_.size()) {}

  struct Place {
    int slot = 0;
    int leaves = -1;  // the unit that lay there
  };
  // A slot for a unit that has none. Those in `pinned` stay where they are: where they fill every slot, one more
  // is made.
  Place take(int unit, std::span<const int> pinned);
  int put(int unit,
          int slot);     // into that slot, which is made if need be; gives the unit that lay there, or -1
  void touch(int unit);  // it is used now
  void clear();
  std::optional<int> find(int unit) const;
  int count() const { return static_cast<int>(slots_.size()); }

 private:
  std::vector<int> slots_;  // the unit in each, or -1
  std::vector<long> used_;  // when
  long now_ = 0;
};

}  // namespace gradwire

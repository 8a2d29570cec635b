// When units are used and which of them are held: what came after a unit the last time is fetched ahead, and of a
// few slots the one goes that was used longest ago. Functions of the order of uses alone, so that ranks which run
// the same model fetch the same units in the same order. Without torch; belongs to one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gradwire {

// Remembers what followed a unit and the one before it: so 1 is followed by 2 on the way forward (0, 1) and by 0
// on the way back (2, 1).
class UnitOrder {
 public:
  void note(int unit);              // it is used now; repeated uses count once
  std::optional<int> next() const;  // what was used next the last time; nothing where a pass ended
  void end_pass();                  // whatever comes next does not follow from this
  int last() const { return last_; }

 private:
  std::map<std::pair<int, int>, int> after_;
  int before_ = -1, last_ = -1;
};

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

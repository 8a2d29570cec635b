#include "sched/unit_slots.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace gradwire {

UnitSlots::Place UnitSlots::take(int unit, std::span<const int> pinned) {
  check(!find(unit), "a unit takes one slot");
  const auto stays = [&](int held) { return std::find(pinned.begin(), pinned.end(), held) != pinned.end(); };
  int best = -1;
  for (int slot = 0; slot < count(); ++slot) {
    const int held = slots_[static_cast<std::size_t>(slot)];
    if (held >= 0 && stays(held)) continue;
    const auto age = [&](int at) {  // an empty one before any
      return slots_[static_cast<std::size_t>(at)] < 0 ? -1 : used_[static_cast<std::size_t>(at)];
    };
    if (best < 0 || age(slot) < age(best)) best = slot;
  }
  if (best < 0) best = count();
  return {best, put(unit, best)};
}

int UnitSlots::put(int unit, int slot) {
  const auto at = static_cast<std::size_t>(slot);
  if (slots_.size() <= at) {
    slots_.resize(at + 1, -1);
    used_.resize(at + 1, 0);
  }
  used_[at] = ++now_;
  return std::exchange(slots_[at], unit);
}

void UnitSlots::touch(int unit) {
  if (const auto slot = find(unit)) used_[static_cast<std::size_t>(*slot)] = ++now_;
}

void UnitSlots::clear() { std::fill(slots_.begin(), slots_.end(), -1); }

std::optional<int> UnitSlots::find(int unit) const {
  const auto found = std::find(slots_.begin(), slots_.end(), unit);
  if (found == slots_.end()) return std::nullopt;
  return static_cast<int>(found - slots_.begin());
}

}  // namespace gradwire

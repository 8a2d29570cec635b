#include "train/sharded/unit_order.h"

#include <algorithm>

#include "base/error.h"

namespace gradwire {

void UnitOrder::note(int unit) {
  if (unit == last_) return;
  if (last_ >= 0) after_[{before_, last_}] = unit;
  before_ = last_;
  last_ = unit;
}

std::optional<int> UnitOrder::next() const {
  const auto found = after_.find({before_, last_});
  if (last_ < 0 || found == after_.end() || found->second < 0) return std::nullopt;
  return found->second;
}

void UnitOrder::end_pass() {
  if (last_ >= 0) after_[{before_, last_}] = -1;
  before_ = last_ = -1;
}

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
  if (best < 0) {
    best = count();
    slots_.push_back(-1);
    used_.push_back(0);
  }
  const Place place{best, slots_[static_cast<std::size_t>(best)]};
  slots_[static_cast<std::size_t>(best)] = unit;
  used_[static_cast<std::size_t>(best)] = ++now_;
  return place;
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

#include "train/sharded/sharded_units.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "train/sharded/unit_tags.h"
#include "train/tensor_bytes.h"

namespace gradwire {

ShardedUnits::~ShardedUnits() {
  const Lock lock(mutex_);
  for (auto& unit : units_) {
    try {
      abandon(unit);
    } catch (const std::exception&) {  // told to whoever makes the next call
    }
    if (settings_.stage == 3 && unit.storage) unit.storage->release();
  }
}

// Autograd goes back without making a graph. Nothing where somebody looks at parameters between steps.
std::optional<UnitWalk::Way> ShardedUnits::find_way() const {
  if (torch::GradMode::is_enabled() || quiet_) return UnitWalk::Way::forward;
  return walk_->expects_backward() ? std::optional(UnitWalk::Way::backward) : std::nullopt;
}

void ShardedUnits::use(std::span<const int> units) {
  const Lock lock(mutex_);
  const auto way = find_way();
  if (way && units.size() == 1 && walk_->is_used(units[0], *way) &&
      units_[static_cast<std::size_t>(units[0])].storage->complete())
    return;
  const torch::NoGradGuard no_grad;
  if (!way) aside_ = frees_units();
  if (way && !walk_->has_begun() && std::exchange(aside_, false)) release_all();  // as a step begins
  if (!std::exchange(used_, true) && views_) show_shares();
  for (std::size_t i = 0; way && i < units.size(); ++i) walk_->use(units[i], *way, i > 0);
  start_tasks();
  for (const int unit : units) hold(unit, units);
}

void ShardedUnits::change() {
  const Lock lock(mutex_);
  if (!used_) return;
  walk_->rewind();
  release_all();
}

// Every rank's part is in its place: all units are whole once all ranks say so.
void ShardedUnits::show_shares() {
  for (const auto& unit : units_)
    if (unit.type != unit.compute_type) own_part(unit).copy_(unit.share.detach());
  meet(kShowTag);
  for (const auto& unit : units_) unit.storage->set_complete(true);
}

void ShardedUnits::meet(std::uint32_t tag) {
  const Timed timed(trace_, SpanKind::wait, "gather");
  Call call = barrier();
  call.tag = tag;
  communicator_.run(call);
}

// Whether a gradient among them is to be reduced.
bool ShardedUnits::start_tasks() {
  bool reduces = false;
  while (const Task* const task = walk_->take()) {
    if (task->data == TaskData::gradient) {
      reduces = true;
      continue;
    }
    const Unit& unit = units_[static_cast<std::size_t>(task->unit)];
    if (unit.storage->complete() || unit.gathering) continue;  // by a forward that nothing was learnt from
    if (frees_units()) move_in(task->unit, task->slot, slots_.put(task->unit, task->slot));
    start_gather(task->unit);
  }
  return reduces;
}

void ShardedUnits::hold(int index, std::span<const int> pinned) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (!unit.storage->complete()) {
    if (!unit.gathering) {
      if (frees_units()) {
        const auto place = slots_.take(index, pinned);
        move_in(index, place.slot, place.leaves);
      }
      start_gather(index);
    }
    finish_gather(index);
  }
  slots_.touch(index);
}

void ShardedUnits::use_all() {
  std::vector<int> all(units_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  use(all);
}

void ShardedUnits::start_gather(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  const auto whole = memory_of(unit.whole);
  const std::size_t part = whole.size() / static_cast<std::size_t>(communicator_.size());
  std::span<const std::byte> own = whole.subspan(part * static_cast<std::size_t>(communicator_.rank()), part);
  if (unit.type != unit.compute_type)  // into its place, in the type that travels
    own_part(unit).copy_(unit.share.detach());
  else if (frees_units())
    own = memory_of(unit.share);
  Call call = all_gather(own, whole, dtype_of(unit.compute_type, "a parameter"));
  call.tag = (frees_units() ? kFetchTag : kGatherTag) + static_cast<std::uint32_t>(index);
  unit.asked = steady_now();
  unit.gathering = (inline_ ? *inline_ : communicator_).start(call);
}

void ShardedUnits::move_in(int index, int place, int leaves) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (leaves >= 0) {
    Unit& old = units_[static_cast<std::size_t>(leaves)];
    abandon(old);
    old.storage->release();
    old.whole.reset();
  }
  const auto slot = static_cast<std::size_t>(place);
  if (slot_memory_.size() <= slot) slot_memory_.resize(slot + 1);
  if (!slot_memory_[slot]) slot_memory_[slot] = std::make_shared<Memory>(communicator_.allocate(slot_bytes_));
  const auto bytes = static_cast<std::size_t>(unit.layout.total()) * torch::elementSize(unit.compute_type);
  unit.whole = flat_tensor_in(slot_memory_[slot], slot_memory_[slot]->bytes().first(bytes),
                              options_for(unit.compute_type));
}

void ShardedUnits::finish_gather(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  {
    const Timed timed(trace_, SpanKind::wait, "gather");
    unit.gathering->wait();
  }
  const auto times = trace_ != nullptr ? unit.gathering->times() : std::nullopt;
  if (times) {
    const Seconds begin = on_steady_clock(times->begin);
    trace_->add_collective("gather", index, static_cast<Bytes>(unit.whole.nbytes()),
                           {std::min(unit.asked, begin), begin, on_steady_clock(times->end)});
  }
  unit.gathering.reset();
  if (!frees_units()) return unit.storage->set_complete(true);
  const auto slot = slots_.find(index);
  check(slot.has_value(), "a gathered unit lies in a slot");
  unit.storage->hold(slot_memory_[static_cast<std::size_t>(*slot)], memory_of(unit.whole), true);
}

// A call that nobody asks for any more still writes: it ends before its memory is used otherwise.
void ShardedUnits::abandon(Unit& unit) {
  const auto work = std::exchange(unit.gathering, nullptr);
  if (work) work->wait();
}

void ShardedUnits::begin_forward(bool learns) {
  const Lock lock(mutex_);
  quiet_ = !learns;
  if (quiet_ && walk_->has_begun()) return walk_->spoil();
  walk_->begin_forward();
}

// One that nothing is learnt from goes as far as a step's graph does, which then begins anew.
void ShardedUnits::end_forward() {
  const Lock lock(mutex_);
  if (!std::exchange(quiet_, false) || walk_->is_spoilt()) return;
  if (frees_units()) release_all();
  walk_->rewind();
}

bool ShardedUnits::complete_gradient(int unit, bool sends) {
  const Lock lock(mutex_);
  walk_->complete(unit, sends);
  const bool reduces = start_tasks();
  return walk_->is_led() ? reduces : sends;
}

void ShardedUnits::end_backward(bool ends_step) {
  const Lock lock(mutex_);
  walk_->end_backward();
  if (!ends_step) return;
  walk_->end_step();
  release_all();
}

void ShardedUnits::forget_step() {
  const Lock lock(mutex_);
  walk_->rewind();
  if (frees_units()) release_all();
}

void ShardedUnits::changed() {
  const Lock lock(mutex_);
  walk_->rewind();
  release_all();
}

// Where memory is shared, all ranks have let go of it when this returns.
void ShardedUnits::release_all() {
  if (std::exchange(used_, false) && views_) meet(kReleaseTag);
  for (auto& unit : units_) {
    abandon(unit);
    if (frees_units()) {
      unit.storage->release();
      unit.whole.reset();
    }
    unit.storage->set_complete(false);
  }
  slots_.clear();
}

std::vector<Task> ShardedUnits::tasks() const {
  const Lock lock(mutex_);
  return walk_->tasks();
}

ShardedUnits::Held ShardedUnits::held() const {
  const Lock lock(mutex_);
  Held held;
  for (const auto& unit : units_) {
    held.shares += static_cast<Bytes>(unit.share.nbytes());
    if (views_ && unit.type != unit.compute_type)
      held.gathered += static_cast<Bytes>(own_part(unit).nbytes());
    if (wholes_ && !views_) held.gathered += static_cast<Bytes>(unit.whole.nbytes());
  }
  for (const auto& slot : slot_memory_)
    if (slot) ++held.slots, held.gathered += static_cast<Bytes>(slot->bytes().size());
  return held;
}

}  // namespace gradwire

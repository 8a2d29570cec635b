#include "train/sharded/unit_walk.h"

#include <algorithm>

#include "base/error.h"
#include "sched/step_verify.h"

namespace gradwire {
namespace {

using Kind = UnitEvent::Kind;

// How many of the tasks have begun with each event: a use begins computing, and whatever is listed before that; a gradient
// that leaves its reduce-scatter.
std::vector<std::size_t> tasks_by_event(const std::vector<Task>& tasks,
                                        const std::vector<UnitEvent>& events) {
  std::vector<std::size_t> begun;
  std::size_t count = 0;
  const auto pass = [&](TaskKind kind, int unit) {
    while (tasks.at(count).kind == TaskKind::collective && kind != TaskKind::collective) ++count;
    check(tasks.at(count).kind == kind && tasks[count].unit == unit, "a task for every event");
    ++count;
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& event = events[i];
    const auto computes = event.kind == Kind::forward ? TaskKind::forward : TaskKind::backward;
    if (i == 0 || !ends_use(events[i - 1], event)) pass(computes, event.unit);
    if (event.sent) pass(TaskKind::collective, event.unit);
    begun.push_back(count);
  }
  return begun;
}

}  // namespace

void UnitWalk::begin_forward() { forwards_ = std::max(forwards_, backwards_) + 1; }

// Backwards come in the order of their forwards. A forward that nobody has announced is that of the next backward.
int UnitWalk::micro_batch_of(Way way) const {
  return way == Way::forward ? std::max(forwards_, backwards_ + 1) - 1 : backwards_;
}

void UnitWalk::use(int unit, Way way, bool together) {
  tell({.kind = way == Way::forward ? Kind::forward : Kind::backward,
        .unit = unit,
        .micro_batch = micro_batch_of(way),
        .together = together});
}

bool UnitWalk::is_used(int unit, Way way) const {
  return last_.unit == unit && last_.micro_batch == micro_batch_of(way) &&
         last_.kind == (way == Way::forward ? Kind::forward : Kind::backward);
}

void UnitWalk::complete(int unit, bool sent) {
  tell({.kind = Kind::gradient, .unit = unit, .micro_batch = backwards_, .sent = sent});
}

void UnitWalk::tell(const UnitEvent& event) {
  if (event.kind != Kind::gradient) last_ = event;
  if (event.kind == Kind::forward) opened_ = std::max(opened_, event.micro_batch + 1);
  if (led_ && at_event_ < events_.size() && events_[at_event_] == event) {
    allowed_ = begun_[at_event_++];
    return;
  }
  if (led_) seen_.assign(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(at_event_));
  led_ = false;
  if (!spoilt_) seen_.push_back(event);
}

const Task* UnitWalk::take() {
  while (led_ && at_task_ < allowed_) {
    const Task& task = tasks_[at_task_++];
    if (task.kind == TaskKind::collective) return &task;
  }
  return nullptr;
}

void UnitWalk::spoil() {
  led_ = false;
  spoilt_ = true;
  seen_.clear();
}

void UnitWalk::end_step() {
  if (led_ && at_event_ < events_.size())  // it was shorter
    seen_.assign(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(at_event_));
  if (!spoilt_ && is_whole_step(model_, seen_)) adopt();
  rewind();
}

// Ranks are alike, so of many a few stand for all.
void UnitWalk::adopt() {
  constexpr int kMostProven = 4;
  ShardedModel few = model_;
  few.ranks = std::min(few.ranks, kMostProven);
  auto graph = sharded_step_graph(few, seen_);
  verify(graph);
  tasks_ = std::move(graph.ranks.front());
  begun_ = tasks_by_event(tasks_, seen_);
  events_ = seen_;
}

void UnitWalk::rewind() {
  led_ = !events_.empty();
  spoilt_ = false;
  at_event_ = at_task_ = allowed_ = 0;
  last_ = {.unit = -1};
  seen_.clear();
  forwards_ = opened_ = backwards_ = 0;
}

}  // namespace gradwire

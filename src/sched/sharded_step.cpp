#include "sched/sharded_step.h"

#include <algorithm>
#include <set>
#include <utility>

namespace gradwire {
namespace {

using Kind = UnitEvent::Kind;

int micro_batches_in(std::span<const UnitEvent> events) {
  int count = 0;
  for (const auto& event : events) count = std::max(count, event.micro_batch + 1);
  return count;
}

// A piece begins with each use, and with each gradient that comes without one.
std::vector<StepPiece> pieces_in(const ShardedModel& model, std::span<const UnitEvent> events) {
  std::vector<StepPiece> pieces;
  std::set<std::pair<bool, int>> begun;    // passes: forward or not, micro-batch
  std::set<std::pair<int, int>> complete;  // micro-batch and unit
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& event = events[i];
    const bool completes = event.kind == Kind::gradient, forward = event.kind == Kind::forward;
    if (i == 0 || !ends_use(events[i - 1], event))
      pieces.push_back(
          {.forward = forward,
           .micro_batch = event.micro_batch,
           .unit = event.unit,
           .first = begun.insert({forward, event.micro_batch}).second,
           .reads = !completes,
           .learns = model.learns(event.unit) && !complete.contains({event.micro_batch, event.unit}),
           .sends = false,
           .together = event.together});
    if (!completes) continue;
    pieces.back().sends = event.sent;
    complete.insert({event.micro_batch, event.unit});
  }
  return pieces;
}

}  // namespace

std::vector<UnitEvent> units_in_turn(const ShardedModel& model, int micro_batches) {
  std::vector<UnitEvent> events;
  const int count = static_cast<int>(model.units.size());
  for (int micro = 0; micro < micro_batches; ++micro) {
    for (int unit = 0; unit < count; ++unit) events.push_back({Kind::forward, unit, micro});
    for (int unit = count; unit-- > 0;) {
      events.push_back({Kind::backward, unit, micro});
      const bool sent = model.stage > 1 || micro + 1 == micro_batches;
      if (model.learns(unit)) events.push_back({Kind::gradient, unit, micro, false, sent});
    }
  }
  return events;
}

bool is_whole_step(const ShardedModel& model, std::span<const UnitEvent> events) {
  const int last = micro_batches_in(events) - 1;
  std::set<int> forwards;                // micro-batches
  std::set<std::pair<int, int>> learnt;  // micro-batch and unit
  for (const auto& event : events) {
    if (event.kind == Kind::forward) forwards.insert(event.micro_batch);
    if (!forwards.contains(event.micro_batch)) return false;
    if (event.kind != Kind::gradient) continue;
    const bool sends = model.stage > 1 || event.micro_batch == last;
    if (event.sent != sends || !learnt.insert({event.micro_batch, event.unit}).second) return false;
  }
  const auto trained = [&] {
    std::size_t count = 0;
    for (int unit = 0; unit < static_cast<int>(model.units.size()); ++unit) count += model.learns(unit);
    return count;
  };
  return last >= 0 && learnt.size() == trained() * static_cast<std::size_t>(last + 1);
}

StepGraph sharded_step_graph(const ShardedModel& model, std::span<const UnitEvent> events) {
  StepPlan plan;
  plan.mesh.dp = model.ranks;
  plan.micro_batches = micro_batches_in(events);
  plan.shard = model.stage;
  plan.join_alone = true;
  return make_step_graph(plan, {{.units = model.units}}, pieces_in(model, events));
}

bool ends_use(const UnitEvent& before, const UnitEvent& gradient) {
  return gradient.kind == Kind::gradient && before.kind == Kind::backward && before.unit == gradient.unit &&
         before.micro_batch == gradient.micro_batch;
}

}  // namespace gradwire

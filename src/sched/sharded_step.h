// ShardedDataParallel's step as a graph of tasks: one chunk on every rank, whose units are what is gathered, freed and
// reduced together. What a step is made of is what a model does with its units, seen in the step before: which of
// them operators take, forward and backward, and when the gradient of each is complete. Of that follows when each is
// gathered, into which buffer and after what, when its gradients are reduce-scattered, and what the update waits for.
// ShardedDataParallel starts its collectives in this order (train/sharded/unit_walk.h), verify() proves it, run_step() passes
// its time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/step_graph.h"

namespace gradwire {

// Something that happens to a unit in a step.
struct UnitEvent {
  enum class Kind : std::uint8_t { forward, backward, gradient };
  Kind kind =
      Kind::forward;  // used forward, used backward (or after forward, by whomever), its gradient is complete
  int unit = 0, micro_batch = 0;
  bool together = false;  // of a use: by the operator that uses the one before
  bool sent = false;      // of a gradient: it leaves, and with it what micro-batches before it have added up
  bool operator==(const UnitEvent&) const = default;
};

// What ranks share: stage 1 optimizer state, 2 gradients too, 3 parameters too.
struct ShardedModel {
  int ranks = 1, stage = 3;
  std::vector<Bytes> units = {};     // parameters of each, as they travel
  std::vector<char> trainable = {};  // each; empty: all
  bool learns(int unit) const { return trainable.empty() || trainable[static_cast<std::size_t>(unit)] != 0; }
};

// Of a model that uses each unit once, in their order, and backward in the reverse.
std::vector<UnitEvent> units_in_turn(const ShardedModel& model, int micro_batches = 1);

// Whether they are a whole step: of each micro-batch a forward and then a backward, which completes every unit that is
// trained, and each gradient leaves as often as the stage says.
bool is_whole_step(const ShardedModel& model, std::span<const UnitEvent> events);

// Of a whole step. Ranks are alike, but for their names. A use is a task, and so is a gradient that does not end the task
// of its own unit's use.
StepGraph sharded_step_graph(const ShardedModel& model, std::span<const UnitEvent> events);

// Whether the gradient ends the task that the event before it began.
bool ends_use(const UnitEvent& before, const UnitEvent& gradient);

}  // namespace gradwire

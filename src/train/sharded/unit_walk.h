// The book by which ShardedDataParallel executes its rank's tasks of the step graph (sched/sharded_step.h). It is told
// which units are used and which gradients are complete, and says which collectives leave now: those that the graph has
// before what was told. The graph is made, and proved, of what the last whole step was seen to do; so the first step has
// none, and a step that does something else than the graph goes on without from there and is what the next is made of.
// Without a graph nothing leaves by itself: whoever needs a unit gathers it. Ranks that run the same model are told
// the same, and so start the same calls in the same order.
//
// While a step goes as its graph nothing is allocated. Plain data without torch; belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "sched/sharded_step.h"

namespace gradwire {

class UnitWalk {
 public:
  explicit UnitWalk(ShardedModel model) : model_(std::move(model)) {}

  void begin_forward();  // of the next micro-batch
  void end_backward() { ++backwards_; }
  void end_step();  // with its last backward
  void rewind();    // what has been told of this step is void: it begins anew
  void spoil();     // it does what no step does, and nothing is to be learnt of it

  enum class Way : char { forward, backward };
  void use(int unit, Way way, bool together = false);
  bool is_used(int unit, Way way) const;  // was told last
  void complete(int unit, bool sent);

  // The next collective that leaves now, in the graph's order; null where there is none.
  const Task* take();

  bool is_led() const { return led_; }  // so far the step goes as its graph
  bool is_spoilt() const { return spoilt_; }
  bool has_begun() const { return opened_ > 0; }
  bool expects_backward() const { return opened_ > backwards_; }
  const std::vector<Task>& tasks() const {
    return tasks_;
  }  // of this rank; empty before the first whole step

 private:
  void tell(const UnitEvent& event);
  void adopt();
  int micro_batch_of(Way way) const;

  const ShardedModel model_;
  std::vector<UnitEvent> events_;   // of the graph
  std::vector<Task> tasks_;         // a rank's of it
  std::vector<std::size_t> begun_;  // by event: so many tasks have begun with it
  // Of the step that goes on:
  bool led_ = false, spoilt_ = false;
  std::size_t at_event_ = 0, at_task_ = 0, allowed_ = 0;
  UnitEvent last_ = {.unit = -1};
  std::vector<UnitEvent> seen_;                    // where it is not led
  int forwards_ = 0, opened_ = 0, backwards_ = 0;  // announced; of which a unit was used; ended
};

}  // namespace gradwire

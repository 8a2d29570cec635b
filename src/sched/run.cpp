#include "sched/run.h"

#include <algorithm>

#include "base/error.h"

namespace gradwire {
namespace {

// One plan in the middle of a run.
struct Running {
  const Plan& plan;
  std::int32_t* waiting;
  Fabric& fabric;

  // Starts a step, and the messages behind it that waited only for their turn.
  void start(std::int32_t step) {
    do {
      fabric.start({plan.part.rank, step}, plan.part.program[step]);
      step = plan.links[step].behind;
    } while (step >= 0 && --waiting[step] == 0);
  }

  void begin() {
    for (std::size_t i = 0; i < plan.waits.size(); ++i)
      if (plan.waits[i] == 0) start(static_cast<std::int32_t>(i));
  }

  void finish(std::int32_t step) {
    for (std::int32_t i = plan.links[step].first; i < plan.links[step + 1].first; ++i)
      if (--waiting[plan.next[i]] == 0) start(plan.next[i]);
  }
};

}  // namespace

void Engine::run(std::span<const Plan> plans, Fabric& fabric, Trace* trace) {
  waiting_.clear();
  first_step_.clear();
  for (const Plan& plan : plans) {
    check(plans.size() == 1 || plan.part.rank == static_cast<Rank>(first_step_.size()),
          "plans must be given in rank order");
    first_step_.push_back(waiting_.size());
    waiting_.insert(waiting_.end(), plan.waits.begin(), plan.waits.end());
  }
  for (std::size_t i = 0; i < plans.size(); ++i)
    Running{plans[i], waiting_.data() + first_step_[i], fabric}.begin();
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    const Event event = fabric.next();
    if (trace != nullptr) trace->events.push_back(event);
    const std::size_t i = plans.size() == 1 ? 0 : static_cast<std::size_t>(event.step.rank);
    Running{plans[i], waiting_.data() + first_step_[i], fabric}.finish(event.step.index);
  }
}

Trace run(std::span<const Plan> plans, Fabric& fabric) {
  Trace trace;
  Engine().run(plans, fabric, &trace);
  return trace;
}

}  // namespace gradwire

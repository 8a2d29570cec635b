#include "sched/run.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "sched/algorithms.h"

namespace gradwire {
namespace {

// Ends steps in the order or in the reverse of the order in which they start, and writes both down.
class Notebook final : public Fabric {
 public:
  explicit Notebook(bool reversed = false) : reversed_(reversed) {}
  void start(StepId id, const Step&) override {
    started.push_back(id);
    open_.push_back(id);
  }
  Event next() override {
    if (open_.empty()) throw std::logic_error("nothing is under way");
    const auto which = reversed_ ? open_.end() - 1 : open_.begin();
    const Event event{.step = *which, .begin = 0, .end = clock_ += 1, .bytes = 0};
    open_.erase(which);
    return event;
  }
  std::vector<StepId> started;

 private:
  const bool reversed_;
  std::vector<StepId> open_;
  Seconds clock_ = 0;
};

std::vector<Plan> one_plan(Program program) {
  return make_plans({{.rank = 5, .shape = {{8, 8, 8}}, .program = std::move(program)}});
}

std::vector<std::int32_t> indices(const std::vector<StepId>& ids) {
  std::vector<std::int32_t> result;
  for (const StepId id : ids) result.push_back(id.index);
  return result;
}

TEST(Run, starts_a_step_when_what_it_waits_for_has_ended) {
  const auto plans = one_plan({Step::recv(1, scratch(0, 0)), Step::reduce(out(0), scratch(0, 0)),
                               Step::send(1, out(0)), Step::send(2, out(7))});
  Notebook fabric;
  run(plans, fabric);
  EXPECT_EQ(indices(fabric.started), (std::vector<std::int32_t>{0, 3, 1, 2}));
}

TEST(Run, keeps_messages_to_one_peer_in_order_when_a_later_one_is_ready_first) {
  const auto plans = one_plan({Step::recv(1, out(0)), Step::send(2, out(0)), Step::send(2, out(1))});
  Notebook fabric;
  run(plans, fabric);
  EXPECT_EQ(indices(fabric.started), (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(Run, traces_every_step_once_in_the_order_in_which_they_end) {
  std::vector<Part> parts;
  for (Rank rank = 0; rank < 4; ++rank) parts.push_back(ring_all_reduce(rank, 4, 6));
  const auto plans = make_plans(std::move(parts));
  for (const bool reversed : {false, true}) {
    Notebook fabric(reversed);
    const Trace trace = run(plans, fabric);
    ASSERT_EQ(trace.events.size(), 4 * plans[0].part.program.size());
    std::vector<std::vector<int>> seen(4, std::vector<int>(plans[0].part.program.size()));
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      EXPECT_EQ(trace.events[i].end, static_cast<Seconds>(i + 1));
      EXPECT_EQ(++seen[trace.events[i].step.rank][trace.events[i].step.index], 1);
    }
  }
}

TEST(Run, is_over_at_once_when_there_is_nothing_to_do) {
  Notebook fabric;
  EXPECT_TRUE(run(one_plan({}), fabric).events.empty());
}

TEST(Run, can_be_repeated_also_after_a_fabric_has_thrown) {
  class Broken final : public Fabric {
    void start(StepId, const Step&) override {}
    Event next() override { throw std::runtime_error("wire cut"); }
  } broken;
  const auto plans = one_plan({Step::recv(1, out(0)), Step::send(2, out(0))});
  Engine engine;
  EXPECT_THROW(engine.run(plans, broken), std::runtime_error);
  for (int i = 0; i < 2; ++i) {
    Notebook fabric;
    engine.run(plans, fabric);
    EXPECT_EQ(fabric.started.size(), 2u);
  }
}

}  // namespace
}  // namespace gradwire

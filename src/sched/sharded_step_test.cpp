#include "sched/sharded_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/step_execution.h"
#include "sched/step_verify.h"

namespace gradwire {
namespace {

using Kind = UnitEvent::Kind;

ShardedModel units_of(int count, int stage, int ranks = 2) {
  return {.ranks = ranks, .stage = stage, .units = std::vector<Bytes>(static_cast<std::size_t>(count), 8)};
}

// "gather 0, reduce 2", in the order in which a rank starts them; of gathers also into which buffer: "gather 0 (1)".
std::string calls_of(const std::vector<Task>& tasks) {
  std::string calls;
  for (const Task& task : tasks) {
    if (task.kind != TaskKind::collective) continue;
    calls += fmt::format("{}{} {}", calls.empty() ? "" : ", ",
                         task.collective == Collective::all_gather ? "gather" : "reduce", task.unit);
    if (task.slot >= 0) calls += fmt::format(" ({})", task.slot);
  }
  return calls;
}

std::string calls_of(const ShardedModel& model, const std::vector<UnitEvent>& events) {
  const auto graph = sharded_step_graph(model, events);
  EXPECT_TRUE(is_whole_step(model, events));
  EXPECT_NO_THROW(verify(graph));
  EXPECT_EQ(graph.ranks.front(), graph.ranks.back()) << "ranks are alike";
  return calls_of(graph.ranks.front());
}

TEST(ShardedStep, gathers_once_and_reduces_with_the_last_micro_batch_where_optimizer_state_is_shared) {
  const auto model = units_of(3, 1);
  EXPECT_EQ(calls_of(model, units_in_turn(model, 3)),
            "gather 0, gather 1, gather 2, reduce 2, reduce 1, reduce 0");
}

TEST(ShardedStep, reduces_after_each_micro_batch_where_gradients_are_shared) {
  const auto model = units_of(2, 2);
  EXPECT_EQ(calls_of(model, units_in_turn(model, 2)),
            "gather 0, gather 1, reduce 1, reduce 0, reduce 1, reduce 0");
}

// The last two units are held when backward begins, and the first two when the next forward does.
TEST(ShardedStep, gathers_into_two_buffers_what_they_no_longer_hold_where_parameters_are_shared) {
  const auto model = units_of(4, 3);
  EXPECT_EQ(calls_of(model, units_in_turn(model, 2)),
            "gather 0 (0), gather 1 (1), gather 2 (0), gather 3 (1), "
            "reduce 3, gather 1 (1), reduce 2, gather 0 (0), reduce 1, reduce 0, "
            "gather 2 (0), gather 3 (1), "
            "reduce 3, gather 1 (1), reduce 2, gather 0 (0), reduce 1, reduce 0");
}

TEST(ShardedStep, of_units_in_turn_is_that_of_the_plan_that_is_priced) {
  for (const int stage : {1, 2, 3})
    for (const int micro_batches : {1, 2, 4})
      for (const int count : {1, 2, 3, 7}) {
        const auto model = units_of(count, stage, 3);
        StepPlan plan;
        plan.mesh.dp = 3;
        plan.shard = stage;
        plan.micro_batches = micro_batches;
        const auto planned = make_step_graph(plan, {{.units = model.units}});
        EXPECT_EQ(sharded_step_graph(model, units_in_turn(model, micro_batches)).ranks, planned.ranks);
      }
}

TEST(ShardedStep, is_proved_for_any_number_of_units_ranks_and_micro_batches) {
  for (const int stage : {1, 2, 3})
    for (const int micro_batches : {1, 2, 3})
      for (const int ranks : {1, 2, 5})
        for (int count = 1; count <= 9; ++count) {
          const auto model = units_of(count, stage, ranks);
          const auto events = units_in_turn(model, micro_batches);
          EXPECT_TRUE(is_whole_step(model, events));
          const auto graph = sharded_step_graph(model, events);
          EXPECT_NO_THROW(verify(graph));
          for (const Task& task : graph.ranks[0]) EXPECT_LT(task.slot, 2);
        }
}

// Unit 0 is the embedding and the output layer, and its gradient is complete at the end; unit 1 is frozen.
TEST(ShardedStep, takes_units_in_the_order_of_their_uses) {
  auto model = units_of(3, 3);
  model.trainable = {1, 0, 1};
  const std::vector<UnitEvent> events = {{Kind::forward, 0},
                                         {Kind::forward, 1},
                                         {Kind::forward, 2},
                                         {Kind::forward, 0},
                                         {Kind::backward, 0},
                                         {Kind::backward, 2},
                                         {Kind::gradient, 2, 0, false, true},
                                         {Kind::backward, 1},
                                         {Kind::gradient, 0, 0, false, true}};
  EXPECT_EQ(calls_of(model, events),
            "gather 0 (0), gather 1 (1), gather 2 (0), gather 0 (1), gather 1 (1), reduce 2, reduce 0");
}

TEST(ShardedStep, has_a_buffer_for_each_unit_that_one_operator_takes) {
  const auto model = units_of(4, 3);
  auto events = units_in_turn(model);
  events[1].together = events[2].together = true;
  const auto graph = sharded_step_graph(model, events);
  EXPECT_NO_THROW(verify(graph));
  EXPECT_THAT(calls_of(graph.ranks[0]),
              testing::StartsWith("gather 0 (0), gather 1 (1), gather 2 (2), gather 3 (3)"));
}

TEST(ShardedStep, is_no_step_where_something_is_missing) {
  const auto model = units_of(3, 2);
  const auto whole = units_in_turn(model, 2);
  EXPECT_FALSE(is_whole_step(model, {}));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto events = whole;
    if (events[i].kind != Kind::gradient) continue;
    events[i].sent = false;
    EXPECT_FALSE(is_whole_step(model, events)) << "a gradient stays";
    events.erase(events.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(is_whole_step(model, events)) << "a gradient never comes";
  }
  auto backward_alone = whole;
  std::erase_if(backward_alone, [](const auto& event) { return event.kind == Kind::forward; });
  EXPECT_FALSE(is_whole_step(model, backward_alone));
}

// Three units of 1 s forward and 1 s backward, 1 s to gather and 1 s to reduce: the first gather and the last reduction
// show, and all else goes on under computing.
TEST(ShardedStep, sends_under_computing) {
  const auto second = [](Rank, const Task& task) { return task.kind == TaskKind::update ? 0.0 : 1.0; };
  for (const int stage : {1, 2}) {
    const auto model = units_of(3, stage);
    const auto graph = sharded_step_graph(model, units_in_turn(model));
    const auto run = run_step(graph, second);
    EXPECT_EQ(why_no_execution(graph, run), "");
    EXPECT_DOUBLE_EQ(run.end, 1 + 3 + 3 + 1) << stage;
  }
}

}  // namespace
}  // namespace gradwire

#include "train/sharded/unit_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradwire {
namespace {

using testing::ElementsAre;
using Kind = UnitEvent::Kind;
using Way = UnitWalk::Way;

ShardedModel three_units(int stage = 3) { return {.ranks = 2, .stage = stage, .units = {8, 8, 8}}; }

// Tells the walk of a step, and gives what left with each event.
class Told {
 public:
  explicit Told(UnitWalk& walk) : walk_(walk) {}

  std::vector<std::string> tell(const std::vector<UnitEvent>& events) {
    std::vector<std::string> left;
    for (const auto& event : events) {
      if (event.kind != Kind::gradient)
        walk_.use(event.unit, event.kind == Kind::forward ? Way::forward : Way::backward, event.together);
      else
        walk_.complete(event.unit, event.sent);
      left.push_back(taken());
    }
    return left;
  }

  // Micro-batches one after another.
  std::vector<std::string> step(const ShardedModel& model, int micro_batches = 1) {
    std::vector<std::string> left;
    for (int micro = 0; micro < micro_batches; ++micro) {
      walk_.begin_forward();
      std::vector<UnitEvent> events;
      for (const auto& event : units_in_turn(model, micro_batches))
        if (event.micro_batch == micro) events.push_back(event);
      for (auto& one : tell(events)) left.push_back(std::move(one));
      walk_.end_backward();
    }
    walk_.end_step();
    return left;
  }

 private:
  std::string taken() {
    std::string left;
    while (const Task* const task = walk_.take())
      left += (task->collective == Collective::all_gather ? "g" : "r") + std::to_string(task->unit);
    return left;
  }

  UnitWalk& walk_;
};

TEST(UnitWalk, has_no_graph_before_it_has_seen_a_step) {
  UnitWalk walk(three_units());
  EXPECT_FALSE(walk.is_led());
  EXPECT_THAT(Told(walk).step(three_units()), testing::Each(""));
  EXPECT_TRUE(walk.is_led());
  EXPECT_FALSE(walk.tasks().empty());
}

// Forward 0 1 2, then of 2, 1 and 0 backward and the gradient.
TEST(UnitWalk, lets_collectives_leave_as_the_graph_has_them) {
  UnitWalk walk(three_units());
  Told told(walk);
  told.step(three_units());
  for (int step = 0; step < 3; ++step)
    EXPECT_THAT(told.step(three_units()), ElementsAre("g0g1", "g2", "", "", "r2", "g0", "r1", "", "r0"));
}

TEST(UnitWalk, reduces_with_the_last_micro_batch_where_whole_gradients_are_kept) {
  UnitWalk walk(three_units(1));
  Told told(walk);
  told.step(three_units(1), 2);
  const auto left = told.step(three_units(1), 2);
  EXPECT_THAT(std::vector(left.begin(), left.begin() + 9),
              ElementsAre("g0g1", "g2", "", "", "", "", "", "", ""));
  EXPECT_THAT(std::vector(left.begin() + 9, left.end()),
              ElementsAre("", "", "", "", "r2", "", "r1", "", "r0"));
}

TEST(UnitWalk, goes_on_without_a_graph_from_where_a_step_does_something_else_and_learns_it) {
  UnitWalk walk(three_units());
  Told told(walk);
  told.step(three_units());
  const std::vector<UnitEvent> other = {{Kind::forward, 0},
                                        {Kind::forward, 2},
                                        {Kind::forward, 1},
                                        {Kind::backward, 1},
                                        {Kind::gradient, 1, 0, false, true},
                                        {Kind::backward, 2},
                                        {Kind::gradient, 2, 0, false, true},
                                        {Kind::gradient, 0, 0, false, true}};
  EXPECT_THAT(told.tell(other), ElementsAre("g0g1", "", "", "", "", "", "", ""));
  EXPECT_FALSE(walk.is_led());
  walk.end_backward(), walk.end_step();
  EXPECT_THAT(told.tell(other), ElementsAre("g0g2", "g1", "", "", "r1", "", "r2", "r0"));
  EXPECT_TRUE(walk.is_led());
}

TEST(UnitWalk, takes_fewer_and_more_micro_batches_for_steps_of_their_own) {
  UnitWalk walk(three_units(2));
  Told told(walk);
  for (const int micro_batches : {2, 1, 3}) {
    told.step(three_units(2), micro_batches);
    told.step(three_units(2), micro_batches);
    EXPECT_EQ(walk.tasks(),
              sharded_step_graph(three_units(2), units_in_turn(three_units(2), micro_batches)).ranks[0]);
  }
}

TEST(UnitWalk, learns_nothing_of_half_a_step_nor_of_one_that_was_spoilt) {
  UnitWalk walk(three_units());
  Told told(walk);
  told.tell({{Kind::forward, 0}, {Kind::forward, 1}, {Kind::backward, 1}});
  walk.end_backward(), walk.end_step();
  EXPECT_FALSE(walk.is_led());
  told.step(three_units());
  const auto known = walk.tasks();
  told.tell({{Kind::forward, 0}});
  walk.spoil();
  EXPECT_THAT(told.tell({{Kind::forward, 1}}), ElementsAre(""));
  walk.end_step();
  EXPECT_TRUE(walk.is_led());
  EXPECT_EQ(walk.tasks(), known);
}

// As a test of the model between two steps does.
TEST(UnitWalk, begins_anew_after_a_forward_without_a_backward) {
  UnitWalk walk(three_units());
  Told told(walk);
  told.step(three_units());
  walk.begin_forward();
  EXPECT_THAT(told.tell({{Kind::forward, 0}, {Kind::forward, 1}}), ElementsAre("g0g1", "g2"));
  EXPECT_TRUE(walk.expects_backward());
  walk.rewind();
  EXPECT_FALSE(walk.has_begun());
  EXPECT_THAT(told.step(three_units()), testing::Contains("r0"));
}

}  // namespace
}  // namespace gradwire

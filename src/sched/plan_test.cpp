#include "sched/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

using testing::ElementsAre;

Plan plan_of(Program program) {
  return make_plan({.rank = 0, .shape = {{4, 4, 4}}, .program = std::move(program)});
}

std::vector<std::int32_t> after(const Plan& plan, std::size_t step) {
  return {plan.next.begin() + plan.links[step].first, plan.next.begin() + plan.links[step + 1].first};
}

TEST(Plan, lets_steps_on_different_chunks_overlap) {
  const Plan plan =
      plan_of({Step::copy(out(0), in(0)), Step::copy(out(1), in(1)), Step::copy(scratch(0, 0), in(0))});
  EXPECT_THAT(plan.waits, ElementsAre(0, 0, 0));
}

TEST(Plan, makes_a_reader_wait_for_the_last_writer) {
  const Plan plan = plan_of({Step::copy(out(0), in(0)), Step::copy(out(0), in(1)), Step::send(1, out(0))});
  EXPECT_THAT(plan.waits, ElementsAre(0, 1, 1));
  EXPECT_THAT(after(plan, 0), ElementsAre(1));
  EXPECT_THAT(after(plan, 1), ElementsAre(2));
}

TEST(Plan, makes_a_writer_wait_for_all_readers) {
  const Plan plan = plan_of({Step::send(1, out(0)), Step::send(2, out(0)), Step::recv(3, out(0))});
  EXPECT_THAT(plan.waits, ElementsAre(0, 0, 2));
}

TEST(Plan, makes_one_edge_of_many_chunks) {
  const Plan plan = plan_of({Step::recv(1, scratch(0, 0, 4)), Step::reduce(out(0, 4), scratch(0, 0, 4))});
  EXPECT_THAT(plan.waits, ElementsAre(0, 1));
  EXPECT_THAT(plan.next, ElementsAre(1));
}

TEST(Plan, finds_overlapping_slices_chunk_by_chunk) {
  const Plan plan = plan_of(
      {Step::recv(1, out(0, 2)), Step::recv(2, out(2, 2)), Step::send(3, out(1, 2)), Step::send(3, out(3))});
  EXPECT_THAT(after(plan, 0), ElementsAre(2));
  EXPECT_THAT(after(plan, 1), ElementsAre(2, 3));
}

TEST(Plan, posts_messages_of_one_way_in_program_order) {
  const Plan plan = plan_of({Step::send(1, out(0)), Step::recv(1, out(1)), Step::send(2, out(0)),
                             Step::send(1, out(2)), Step::recv(1, out(3))});
  EXPECT_EQ(plan.links[0].behind, 3);
  EXPECT_EQ(plan.links[1].behind, 4);
  EXPECT_EQ(plan.links[2].behind, -1);
  EXPECT_THAT(plan.waits, ElementsAre(0, 0, 0, 1, 1));
}

TEST(Plan, does_not_make_a_step_wait_for_itself) {
  EXPECT_THAT(plan_of({Step::copy(out(0), out(0)), Step::reduce(out(1), out(0, 1))}).waits,
              ElementsAre(0, 1));
}

TEST(Plan, refuses_chunks_a_program_does_not_have) {
  EXPECT_THROW(plan_of({Step::send(1, out(4))}), Error);
  EXPECT_THROW(plan_of({Step::send(1, out(2, 3))}), Error);
}

}  // namespace
}  // namespace gradwire

#include "train/pipeline/bubble.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

std::vector<std::vector<StageWork>> order_of(const PipelineShape& shape) {
  std::vector<std::vector<StageWork>> order;
  for (int stage = 0; stage < shape.stages; ++stage) order.push_back(stage_order(shape, stage));
  return order;
}

TEST(Bubble, counted_in_slots_is_the_formula_for_every_schedule) {
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b})
    for (int stages = 1; stages <= 8; ++stages)
      for (int micro_batches = 1; micro_batches <= 20; ++micro_batches) {
        const PipelineShape shape{schedule, stages, micro_batches, 1};
        EXPECT_NEAR(idle_share(shape, order_of(shape)), bubble_share(shape), 1e-12)
            << stages << " x " << micro_batches;
      }
}

TEST(Bubble, of_chunks_in_turn_is_the_formula) {
  for (int stages = 2; stages <= 4; ++stages)
    for (int chunks = 2; chunks <= 3; ++chunks)
      for (int rounds = 1; rounds <= 4; ++rounds) {
        const PipelineShape shape{PipelineSchedule::interleaved, stages, stages * rounds, chunks};
        EXPECT_NEAR(idle_share(shape, order_of(shape)), bubble_share(shape), 1e-12)
            << stages << " x " << chunks << " x " << rounds;
      }
}

TEST(Bubble, of_an_order_that_cant_be_is_refused) {
  const PipelineShape shape{PipelineSchedule::gpipe, 2, 1, 1};
  auto order = order_of(shape);
  std::swap(order[1][0], order[1][1]);  // backward before forward
  EXPECT_THROW(idle_share(shape, order), Error);
}

TEST(Bubble, order_is_read_from_the_spans_of_a_timeline) {
  Timeline timeline;
  timeline.ranks = 4;
  const Mesh mesh{.dp = 2, .pp = 2};
  const auto add = [&](Rank rank, SpanKind kind, StagePart part, Seconds begin) {
    timeline.spans.push_back(
        {.rank = rank, .step = 3, .kind = kind, .begin = begin, .end = begin + 1, .part = part});
  };
  add(2, SpanKind::backward, {1, 0}, 5);
  add(0, SpanKind::forward, {0, 1}, 2), add(0, SpanKind::forward, {0, 0}, 1);
  add(1, SpanKind::forward, {0, 0}, 1);  // another replica
  add(2, SpanKind::wait, {0, 0}, 1), add(2, SpanKind::optimizer, {}, 9), add(2, SpanKind::forward, {}, 8);
  add(2, SpanKind::forward, {3, 7}, 3);
  const auto order = executed_order(timeline, mesh, 3);
  EXPECT_EQ(order, (std::vector<std::vector<StageWork>>{{{true, 0, 0}, {true, 0, 1}},
                                                        {{true, 3, 7}, {false, 1, 0}}}));
  EXPECT_TRUE(executed_order(timeline, mesh, 2)[0].empty());
}

}  // namespace
}  // namespace gradwire

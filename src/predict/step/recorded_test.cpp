#include "predict/step/recorded.h"

#include <gtest/gtest.h>

#include "predict/step/step.h"

namespace gradwire {
namespace {

// A step of `length`: a quarter forward, half backward with a bucket in its middle and one at its end, a
// quarter optimizer.
void add_step(Timeline& timeline, Rank rank, int step, Seconds begin, Seconds length) {
  const auto add = [&](SpanKind kind, double from, double to) -> Span& {
    Span& span = timeline.spans.emplace_back();
    span.rank = rank, span.step = step, span.kind = kind;
    span.begin = begin + from * length, span.end = begin + to * length;
    return span;
  };
  add(SpanKind::forward, 0, 0.25);
  add(SpanKind::backward, 0.25, 0.75);
  add(SpanKind::optimizer, 0.75, 1);
  for (int number = 0; number < 2; ++number) {
    const double ready = 0.5 + 0.25 * number;
    Span& bucket = add(SpanKind::bucket, ready, ready);
    bucket.bucket = number, bucket.bytes = 1000, bucket.ready = bucket.begin;
  }
}

// Two ranks apart: one takes 4 s a step, the other 4.4.
Timeline apart() {
  Timeline timeline{"test", 2, {}};
  for (int step = 0; step < 5; ++step) {
    add_step(timeline, 0, step, 4.0 * step, 4);
    add_step(timeline, 1, step, 4.4 * step, 4.4);
  }
  return timeline;
}

Wires wires(Seconds each, Seconds processor) {
  Wires made;
  made.ranks = 2;
  made.all_reduce = [=](Bytes) { return each; };
  made.processor = [=](Bytes) { return processor; };
  return made;
}

Seconds predicted(const Wires& wires, bool overlap = true) {
  auto one = apart();
  std::erase_if(one.spans, [](const Span& span) { return span.rank == 1; });
  one.ranks = 1;
  const auto recorded = recorded_step(one, "test");
  return solve_step(recorded_problem(recorded, wires, overlap), recorded_constants(recorded));
}

TEST(Recorded, tells_where_in_backward_buckets_are_ready) {
  const auto recorded = recorded_step(apart(), "test");
  ASSERT_EQ(recorded.buckets.size(), 2u);
  EXPECT_NEAR(recorded.buckets[0].ready, 0.5, 1e-9);
  EXPECT_NEAR(recorded.buckets[1].ready, 1, 1e-9);
}

TEST(Recorded, counts_earlier_micro_batches_into_backward) {
  Timeline timeline{"test", 1, {}};
  add_step(timeline, 0, 0, 0, 4);  // its buckets are ready after 1 and 2 of 2 s ...
  Span earlier;
  earlier.kind = SpanKind::backward, earlier.begin = -2, earlier.end = 0;
  timeline.spans.push_back(earlier);  // ... behind another 2 s
  EXPECT_NEAR(recorded_step(timeline, "test").buckets[0].ready, 0.75, 1e-9);
}

TEST(Recorded, knows_how_much_longer_the_slowest_rank_takes) {
  const auto recorded = recorded_step(apart(), "test");
  EXPECT_NEAR(recorded.slowest, 4.4, 1e-9);
  const auto problem = recorded_problem(recorded, wires(0, 0), true);
  EXPECT_NEAR(solve_step(problem, recorded_constants(recorded)), 4.4, 1e-9) << "every step waits for it";
}

// The first hides, the second comes after backward.
TEST(Recorded, wires_that_need_no_processor_hide_under_backward) {
  EXPECT_NEAR(predicted(wires(0.5, 0)), 4.5, 1e-9);
}

TEST(Recorded, wires_that_need_all_of_the_processor_hide_nothing) {
  EXPECT_NEAR(predicted(wires(0.5, 0.5)), 5, 1e-9);
  EXPECT_NEAR(predicted(wires(3, 3)), 10, 1e-9) << "also when they take longer than what is left of backward";
}

// A collective of 1.5 s that takes half of the processor: under it 0.75 of the last second of backward get
// done, the rest while the second one runs.
TEST(Recorded, wires_that_need_half_of_the_processor_slow_backward_by_half) {
  const auto recorded = recorded_step(apart(), "test");
  auto problem = recorded_problem(recorded, wires(1.5, 0.75), true);
  problem.forward = 1, problem.backward = 2, problem.optimizer = 1, problem.between = 0;
  const auto estimate = solve(problem, {});
  EXPECT_NEAR(estimate.parts.backward, 1 + 1.5 + 0.25, 1e-9);
  EXPECT_NEAR(estimate.parts.comm_exposed, 1.5, 1e-9);
  EXPECT_NEAR(estimate.buckets[1].start, 1 + 2.75, 1e-9) << "it is ready when backward is over";
}

TEST(Recorded, without_overlap_everything_comes_after_backward) {
  EXPECT_NEAR(predicted(wires(0.5, 0), false), 5, 1e-9);
}

}  // namespace
}  // namespace gradwire

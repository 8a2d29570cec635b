#include "trace/breakdown.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

Span span(SpanKind kind, Seconds begin, Seconds end, int step = 0, Rank rank = 0) {
  Span made{.rank = rank, .step = step, .kind = kind, .name = {}, .begin = begin, .end = end};
  if (kind == SpanKind::bucket) made.bucket = 0, made.ready = begin;
  return made;
}

void expect_parts(const Breakdown& got, const Breakdown& expected) {
  EXPECT_NEAR(got.data, expected.data, 1e-12) << "data";
  EXPECT_NEAR(got.forward, expected.forward, 1e-12) << "forward";
  EXPECT_NEAR(got.backward, expected.backward, 1e-12) << "backward";
  EXPECT_NEAR(got.comm_overlapped, expected.comm_overlapped, 1e-12) << "comm_overlapped";
  EXPECT_NEAR(got.comm_exposed, expected.comm_exposed, 1e-12) << "comm_exposed";
  EXPECT_NEAR(got.optimizer, expected.optimizer, 1e-12) << "optimizer";
  EXPECT_NEAR(got.other, expected.other, 1e-12) << "other";
}

// One step, in seconds:   0 data 1 forward 4 backward 10 wait 12 optimizer 14, and buckets 6..9, 9..12.
// Backward lasts 6; buckets are in flight from 6 to 12, of which 6..10 lie under backward and 10..12 are
// waited for.
TEST(Breakdown, splits_a_step_by_hand) {
  const Timeline timeline{
      "hand",
      1,
      {span(SpanKind::data, 0, 1), span(SpanKind::forward, 1, 4), span(SpanKind::backward, 4, 10),
       span(SpanKind::wait, 10, 12), span(SpanKind::optimizer, 12, 14), span(SpanKind::bucket, 6, 9),
       span(SpanKind::bucket, 9, 12)}};
  const Breakdown parts = breakdown(timeline);
  expect_parts(
      parts,
      {.data = 1, .forward = 3, .backward = 6, .comm_overlapped = 4, .comm_exposed = 2, .optimizer = 2});
  EXPECT_DOUBLE_EQ(parts.step(), 14);
  EXPECT_DOUBLE_EQ(parts.hidden_share(), 4.0 / 6);
}

// The wait of 2 lies inside the backward of 6: it is taken out of it. The gap 10..11 is other.
TEST(Breakdown, takes_a_wait_out_of_the_backward_around_it) {
  const Timeline timeline{"hand",
                          1,
                          {span(SpanKind::backward, 4, 10), span(SpanKind::wait, 8, 10),
                           span(SpanKind::bucket, 5, 10), span(SpanKind::optimizer, 11, 12)}};
  expect_parts(breakdown(timeline),
               {.backward = 4, .comm_overlapped = 3, .comm_exposed = 2, .optimizer = 1, .other = 1});
}

// A simulated step may have no waits: what is in flight while nothing computes is exposed.
TEST(Breakdown, counts_communication_over_an_idle_lane_as_exposed) {
  const Timeline timeline{"hand", 1, {span(SpanKind::backward, 0, 4), span(SpanKind::bucket, 2, 7)}};
  expect_parts(breakdown(timeline), {.backward = 4, .comm_overlapped = 2, .comm_exposed = 3});
}

// Step 0 begins at 0 and step 1 at 5: the gap from 3 to 5 is step 0's. Step 1 ends with its last span.
TEST(Breakdown, ends_a_step_where_the_next_begins) {
  const Timeline timeline{"hand", 1, {span(SpanKind::forward, 5, 6, 1), span(SpanKind::forward, 0, 3, 0)}};
  const auto steps = step_parts(timeline);
  ASSERT_EQ(steps.size(), 2u);
  expect_parts(steps[0].parts, {.forward = 3, .other = 2});
  expect_parts(steps[1].parts, {.forward = 1});
}

// Lengths 1 2 3 4 100: the median is 3; the middle half is 2 3 4 (a quarter of 5, rounded down, is cut off
// each end), whose mean is 3.
TEST(Breakdown, is_of_the_median_step_and_not_of_the_disturbed_one) {
  std::vector<StepParts> steps;
  for (const Seconds length : {1.0, 100.0, 3.0, 2.0, 4.0})
    steps.push_back({0, static_cast<int>(steps.size()), {.forward = length / 2, .backward = length / 2}});
  expect_parts(*median_step(steps), {.forward = 1.5, .backward = 1.5});
}

// Lengths 1 2 5 6: the median is 3.5, the middle half 2 and 5 has the mean 3.5; parts are scaled to the
// median.
TEST(Breakdown, adds_up_to_the_median_also_of_an_even_number_of_steps) {
  std::vector<StepParts> steps;
  for (const Seconds length : {1.0, 2.0, 5.0, 6.0})
    steps.push_back({0, 0, {.forward = length - 1, .optimizer = 1}});
  expect_parts(*median_step(steps), {.forward = 2.5, .optimizer = 1});
}

TEST(Breakdown, leaves_out_the_step_that_warms_up_where_there_are_others) {
  Timeline timeline{"hand", 2, {}};
  for (const Rank rank : {0, 1}) {
    timeline.spans.push_back(span(SpanKind::forward, 0, 9, 0, rank));
    timeline.spans.push_back(span(SpanKind::forward, 9, 10, 1, rank));
  }
  expect_parts(breakdown(timeline), {.forward = 1});
}

TEST(Breakdown, of_nothing_is_an_error) {
  EXPECT_THROW(breakdown({"nothing", 1, {}}), ConfigError);
  EXPECT_FALSE(median_step({}));
  EXPECT_DOUBLE_EQ(Breakdown{}.hidden_share(), 1);
}

}  // namespace
}  // namespace gradwire

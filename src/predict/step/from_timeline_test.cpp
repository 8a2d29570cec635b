#include "predict/step/recorded.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.h"
#include "predict/step/step.h"
#include "topo/gpu.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Span span(SpanKind kind, Seconds begin, Seconds end) {
  Span one;
  one.kind = kind;
  one.begin = begin;
  one.end = end;
  return one;
}

Span bucket(int number, Bytes bytes, Seconds ready, Seconds end) {
  auto one = span(SpanKind::bucket, ready, end);
  one.bucket = number;
  one.bytes = bytes;
  one.ready = ready;
  return one;
}

// One step: forward 1 s, backward 2 s with buckets ready after a quarter and at the end.
Timeline recorded() {
  return {"test",
          1,
          {span(SpanKind::forward, 0, 1), span(SpanKind::backward, 1, 3), span(SpanKind::wait, 3, 3.5),
           span(SpanKind::optimizer, 3.5, 4), bucket(0, 4000, 1.5, 1.6), bucket(1, 8000, 3, 3.5)}};
}

TEST(FromTimeline, takes_buckets_and_the_time_of_computing) {
  const auto model = model_of(recorded(), "run.json");
  EXPECT_EQ(parameter_count(model.workload), 3000u);
  EXPECT_EQ(model.workload.layers.front().tensors.front(), 2000u)
      << "what is ready last was registered first";
  EXPECT_NEAR(model.anchor.step, 3.5, 1e-9) << "without the half second of waiting";
}

TEST(FromTimeline, buckets_become_ready_where_they_did) {
  const auto model = model_of(recorded(), "run.json");
  Gpu gpu;
  gpu.fp32_flops = 1e13;
  gpu.memory_bytes_per_s = 1e12;
  Roofline roofline;
  roofline.plain.fill(0.5);
  roofline.memory = 0.5;
  Wires wires;
  wires.ranks = 2;
  wires.all_reduce = alpha_beta(2, 1e9, 0);
  StepOptions options;
  options.anchor = model.anchor;
  options.buckets = {1, 1};
  const auto problem = make_problem(model.workload, gpu, wires, options, {}, roofline);
  ASSERT_EQ(problem.buckets.size(), 2u);
  EXPECT_NEAR(problem.buckets[0].ready, 0.25, 0.01);
}

TEST(FromTimeline, knows_its_samples_and_what_computed) {
  auto timeline = recorded();
  EXPECT_FALSE(model_of(timeline, "run.json").on_processor);
  timeline.samples = 16;
  timeline.on_processor = true;
  const auto model = model_of(timeline, "run.json");
  EXPECT_EQ(model.workload.batch, 16);
  EXPECT_EQ(model.anchor.batch, 16);
  EXPECT_TRUE(model.on_processor);
}

// Three buckets that leave 1, 1.8 and 2.6 s into a backward of 3 s, and what their all-reduces take: after 0.8 s each 0.4 of the
// third are exposed.
Timeline beside_backward(Seconds call) {
  const Seconds end = std::max(4.0, 3.6 + call);
  return {"test",
          2,
          {span(SpanKind::forward, 0, 1), span(SpanKind::backward, 1, 4), span(SpanKind::wait, 4, end),
           span(SpanKind::optimizer, end, end + 0.6), bucket(0, 4000, 2, 2 + call),
           bucket(1, 4000, 2.8, 2.8 + call), bucket(2, 4000, 3.6, 3.6 + call)}};
}

StepEstimate replayed(bool through_host, double times_as_long, Seconds recorded_call = 0.8) {
  const auto model = model_of(beside_backward(recorded_call), "run.json");
  Wires wires;
  wires.ranks = 2;
  wires.through_host = through_host;
  wires.all_reduce = [=](Bytes) { return 0.8 * times_as_long; };
  StepOptions options;
  options.anchor = model.anchor;
  options.overlap = true;
  StepModel without_spread;
  without_spread.constants.spread_share = 0;
  return estimate_step(model.workload, find_gpu("rtx3090"), wires, options, without_spread);
}

// What slowed computing is in the record: it is not charged again, whichever way the data went.
TEST(FromTimeline, gives_a_run_its_own_step_on_its_own_wires) {
  for (const bool through_host : {false, true}) {
    EXPECT_NEAR(replayed(through_host, 1).step, 5, 0.05 * 5);
    EXPECT_EQ(replayed(through_host, 1).buckets.size(), 3u) << "buckets stay as they were";
  }
}

TEST(FromTimeline, is_never_slower_on_faster_wires_nor_faster_than_its_computing) {
  for (const bool through_host : {false, true}) {
    EXPECT_LE(replayed(through_host, 0.5).step, replayed(through_host, 1).step);
    EXPECT_GE(replayed(through_host, 0.01).step, 4.6 - 1e-9) << "computing as it was measured";
    EXPECT_LE(replayed(through_host, 1).step, replayed(through_host, 3).step);
  }
}

// Of 0.8 s under backward the record has 0.1: through host memory, where nothing hides (presets/step.yaml), the rest adds to it.
TEST(FromTimeline, is_slowed_by_what_runs_beside_it_for_longer) {
  const auto staged = replayed(true, 1, 0.1), direct = replayed(false, 1, 0.1);
  EXPECT_GT(staged.slowdown, 1);
  EXPECT_GT(direct.slowdown, 0.3);
  EXPECT_GT(staged.step, direct.step);
  EXPECT_GT(direct.step, 5) << "the step of the run that was recorded with such wires";
}

TEST(FromTimeline, says_when_nothing_was_sent) {
  auto alone = recorded();
  alone.spans.resize(4);
  EXPECT_THAT([&] { model_of(alone, "run.json"); },
              ThrowsMessage<ConfigError>(HasSubstr("run.json: no step has a bucket")));
}

}  // namespace
}  // namespace gradwire

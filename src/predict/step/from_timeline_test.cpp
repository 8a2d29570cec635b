#include "predict/step/recorded.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "predict/step/step.h"

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

TEST(FromTimeline, TakesBucketsAndTheTimeOfComputing) {
  const auto model = model_of(recorded(), "run.json");
  EXPECT_EQ(parameter_count(model.workload), 3000u);
  EXPECT_EQ(model.workload.layers.front().tensors.front(), 2000u)
      << "what is ready last was registered first";
  EXPECT_NEAR(model.anchor.step, 3.5 - 0.1 * default_step_constants().slowdown_direct, 1e-9)
      << "without the half second of waiting, and what a tenth of communication cost";
}

TEST(FromTimeline, BucketsBecomeReadyWhereTheyDid) {
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

TEST(FromTimeline, KnowsItsSamples) {
  auto timeline = recorded();
  timeline.samples = 16;
  const auto model = model_of(timeline, "run.json");
  EXPECT_EQ(model.workload.batch, 16);
  EXPECT_EQ(model.anchor.batch, 16);
}

TEST(FromTimeline, TakesOffWhatCommunicationSlowed) {
  auto timeline = recorded();
  timeline.spans[4].end = 2.5;  // the first bucket, a second long and all of it under backward
  EXPECT_NEAR(model_of(timeline, "run.json").anchor.step, 3.5 - default_step_constants().slowdown_direct,
              1e-9);
}

TEST(FromTimeline, SaysWhenNothingWasSent) {
  auto alone = recorded();
  alone.spans.resize(4);
  EXPECT_THAT([&] { model_of(alone, "run.json"); },
              ThrowsMessage<ConfigError>(HasSubstr("run.json: no step has a bucket")));
}

}  // namespace
}  // namespace gradwire

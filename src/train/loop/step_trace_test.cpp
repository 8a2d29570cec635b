#include "train/loop/step_trace.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

PhaseEvent event(Phase phase, int bucket, double begin, double end) {
  const auto at = [](double seconds) {
    return PhaseEvent::Time(
        std::chrono::duration_cast<PhaseEvent::Time::duration>(std::chrono::duration<double>(seconds)));
  };
  return {phase, bucket, bucket < 0 ? Bytes{0} : Bytes{64}, at(begin), at(end)};
}

TEST(StepTrace, takes_down_each_bucket_with_when_it_was_ready) {
  Recorder recorder(16);
  StepTrace trace(recorder);
  recorder.set_step(2);
  trace.record(event(Phase::bucket_ready, 1, 10, 10));
  trace.record(event(Phase::bucket_reduce, 1, 12, 13));
  trace.record(event(Phase::exposed_wait, -1, 13, 14));
  trace.record(event(Phase::buffer_sync, -1, 14, 15));
  trace.record(event(Phase::bucket_compress, 1, 15, 16));
  trace.record(event(Phase::backward, -1, 1, 16));
  const auto spans = recorder.spans(0);
  ASSERT_EQ(spans.size(), 4u) << "backward is the loop's to record";
  EXPECT_EQ(spans[0].kind, SpanKind::bucket);
  EXPECT_EQ(spans[0].step, 2);
  EXPECT_EQ(spans[0].bytes, 64u);
  EXPECT_NEAR(spans[0].ready, 10, 1e-6);
  EXPECT_NEAR(spans[0].begin, 12, 1e-6);
  EXPECT_EQ(spans[1].kind, SpanKind::wait);
  EXPECT_EQ(spans[2].kind, SpanKind::wait);
  EXPECT_EQ(spans[2].name, "buffers");
  EXPECT_EQ(spans[3].kind, SpanKind::other);
}

}  // namespace
}  // namespace gradwire

#include "trace/recorder.h"

#include <gtest/gtest.h>

#include <thread>

namespace gradwire {
namespace {

TEST(Recorder, gives_back_what_it_took_down_on_the_common_clock) {
  Recorder recorder(8);
  recorder.set_step(4);
  recorder.add(SpanKind::forward, 10, 11);
  recorder.add_named(SpanKind::other, "checkpoint", 11, 12);
  recorder.add_bucket(2, 64, {.ready = 10.25, .begin = 10.5, .end = 10.75});
  const auto spans = recorder.spans(3, -10);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0],
            (Span{.rank = 3, .step = 4, .kind = SpanKind::forward, .name = {}, .begin = 0, .end = 1}));
  EXPECT_EQ(spans[1].name, "checkpoint");
  EXPECT_EQ(spans[2], (Span{.rank = 3,
                            .step = 4,
                            .kind = SpanKind::bucket,
                            .name = "bucket 2",
                            .begin = 0.5,
                            .end = 0.75,
                            .bucket = 2,
                            .bytes = 64,
                            .ready = 0.25}));
}

TEST(Recorder, tells_calls_that_were_rehearsed_and_parts_of_a_pipeline_by_values) {
  const RehearsedCall call{Collective::reduce_scatter, true, "tp-0-1"};
  Recorder recorder(8);
  recorder.add_rehearsed(call, 12, 64, {1, 2, 3});
  recorder.add_named(SpanKind::wait, "receive gradient", 3, 4, {.chunk = 2, .micro_batch = 5});
  { const Timed timed(&recorder, SpanKind::backward, nullptr, {.chunk = 1, .micro_batch = 0}); }
  const auto spans = recorder.spans(0);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].rehearsed, call);
  EXPECT_EQ(spans[0].name, "rehearsed reduce_scatter:user among tp-0-1 12");
  EXPECT_EQ(spans[1].part, (StagePart{2, 5}));
  EXPECT_EQ(spans[2].part, (StagePart{1, 0}));
  EXPECT_TRUE(is_rehearsal({"test", 1, spans}));
  EXPECT_FALSE(is_rehearsal({"test", 1, {spans[1], spans[2]}}));
}

TEST(Recorder, counts_what_it_has_no_room_for) {
  Recorder recorder(2);
  for (int i = 0; i < 5; ++i) recorder.add(SpanKind::data, i, i + 1);
  EXPECT_EQ(recorder.spans(0).size(), 2u);
  EXPECT_EQ(recorder.dropped(), 3u);
  recorder.clear();
  EXPECT_EQ(recorder.dropped(), 0u);
  EXPECT_TRUE(recorder.spans(0).empty());
}

TEST(Recorder, loses_nothing_when_threads_record_at_once) {
  Recorder recorder(2000);
  const auto record = [&](int bucket) {
    for (int i = 0; i < 1000; ++i) recorder.add_bucket(bucket, static_cast<Bytes>(i), {0, 0, 1});
  };
  std::thread first(record, 0), second(record, 1);
  first.join();
  second.join();
  std::vector<Bytes> sums(2);
  for (const Span& span : recorder.spans(0)) sums.at(static_cast<std::size_t>(span.bucket)) += span.bytes;
  EXPECT_EQ(sums, (std::vector<Bytes>{499500, 499500}));
}

TEST(Timed, records_its_own_lifetime_and_nothing_without_a_recorder) {
  Recorder recorder(4);
  { const Timed timed(&recorder, SpanKind::optimizer); }
  { const Timed timed(nullptr, SpanKind::optimizer); }
  const auto spans = recorder.spans(0);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_LE(spans[0].begin, spans[0].end);
}

// A device whose marks are reached when the test says so: mark n at n seconds.
class SlowDevice final : public DeviceMarks {
 public:
  LateTime mark() noexcept override {
    return [this, number = ++marks_]() -> std::optional<Seconds> {
      return number <= reached ? std::optional<Seconds>(number) : std::nullopt;
    };
  }
  int reached = 0;

 private:
  int marks_ = 0;
};

TEST(Recorder, takes_spans_of_a_device_down_when_the_device_has_been_there) {
  Recorder recorder(8);
  SlowDevice device;
  recorder.set_marks(&device);
  recorder.set_step(1);
  { const Timed timed(&recorder, SpanKind::forward); }
  { const Timed timed(&recorder, SpanKind::backward, "late"); }
  device.reached = 3;  // the second span has begun and not ended
  recorder.set_step(2);
  ASSERT_EQ(recorder.spans(0).size(), 1u);
  EXPECT_EQ(recorder.spans(0)[0].kind, SpanKind::forward);
  EXPECT_EQ(recorder.spans(0)[0].begin, 1);
  EXPECT_EQ(recorder.spans(0)[0].end, 2);
  EXPECT_EQ(recorder.spans(0)[0].step, 1);
  EXPECT_EQ(recorder.dropped(), 1u);
  device.reached = 4;
  recorder.resolve();
  ASSERT_EQ(recorder.spans(0).size(), 2u);
  EXPECT_EQ(recorder.spans(0)[1].step, 1);  // that in which it was begun
  EXPECT_EQ(recorder.spans(0)[1].name, "late");
  EXPECT_EQ(recorder.dropped(), 0u);
}

TEST(Recorder, counts_spans_whose_device_can_not_tell) {
  struct Broken final : DeviceMarks {
    LateTime mark() noexcept override { return {}; }
  } broken;
  Recorder recorder(8);
  recorder.set_marks(&broken);
  { const Timed timed(&recorder, SpanKind::forward); }
  recorder.resolve();
  EXPECT_TRUE(recorder.spans(0).empty());
  EXPECT_EQ(recorder.dropped(), 1u);
}

}  // namespace
}  // namespace gradwire

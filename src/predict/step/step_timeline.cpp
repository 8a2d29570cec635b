#include <fmt/format.h>

#include <algorithm>

#include "predict/step/step.h"

namespace gradwire {
namespace {

// Spans of the compute lane, one after another.
class ComputeLane {
 public:
  ComputeLane(Timeline& timeline, Rank rank) : timeline_(timeline), rank_(rank) {}

  void add(SpanKind kind, Seconds duration, std::string name = {}) {
    if (duration <= 0) return;
    Span span;
    span.rank = rank_;
    span.kind = kind;
    span.name = std::move(name);
    span.begin = now_;
    span.end = now_ += duration;
    timeline_.spans.push_back(span);
  }

 private:
  Timeline& timeline_;
  Rank rank_;
  Seconds now_ = 0;
};

void add_bucket(Timeline& timeline, Rank rank, int number, const BucketTimes& bucket) {
  Span span;
  span.rank = rank;
  span.kind = SpanKind::bucket;
  span.name = fmt::format("bucket {}", number);
  span.begin = bucket.start;
  span.end = bucket.end;
  span.bucket = number;
  span.bytes = bucket.bytes;
  span.ready = std::min(bucket.ready, bucket.start);
  timeline.spans.push_back(span);
}

}  // namespace

Timeline timeline_of(const StepEstimate& estimate, const std::string& source, int ranks) {
  Timeline timeline{source, ranks, {}, estimate.batch * estimate.accumulate};
  const int accumulate = estimate.accumulate;
  const auto& parts = estimate.parts;
  const auto forward = parts.forward / accumulate, data = parts.data / accumulate;
  const auto plain = estimate.micro_backward;
  for (Rank rank = 0; rank < ranks; ++rank) {
    ComputeLane lane(timeline, rank);
    for (int micro = 0; micro < accumulate; ++micro) {
      const bool last = micro + 1 == accumulate;
      lane.add(SpanKind::data, data);
      lane.add(SpanKind::forward, forward);
      lane.add(SpanKind::backward, last ? parts.backward - (accumulate - 1) * plain : plain);
    }
    lane.add(SpanKind::wait, parts.comm_exposed);
    lane.add(SpanKind::optimizer, parts.optimizer);
    lane.add(SpanKind::other, parts.other, "slower ranks, buffers");
    int number = 0;
    for (const auto& bucket : estimate.buckets) add_bucket(timeline, rank, number++, bucket);
  }
  return timeline;
}

}  // namespace gradwire

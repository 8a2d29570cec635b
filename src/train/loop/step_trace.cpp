#include "train/loop/step_trace.h"

#include <algorithm>

namespace gradwire {
namespace {

Seconds seconds_of(PhaseEvent::Time time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

// Backward as such is the loop's to record: it knows where the call began.
void StepTrace::record(const PhaseEvent& event) {
  const Seconds begin = seconds_of(event.begin), end = seconds_of(event.end);
  const auto bucket = static_cast<std::size_t>(std::max(event.bucket, 0));
  if (bucket >= ready_.size()) ready_.resize(bucket + 1);
  switch (event.phase) {
    case Phase::backward:
      return;
    case Phase::bucket_ready:
      ready_[bucket] = begin;
      return;
    case Phase::bucket_reduce:
      return recorder_.add_bucket(event.bucket, event.bytes, {std::min(ready_[bucket], begin), begin, end});
    case Phase::bucket_compress:
      return recorder_.add_named(SpanKind::other, "compress", begin, end);
    case Phase::exposed_wait:
      return recorder_.add(SpanKind::wait, begin, end);
    case Phase::buffer_sync:
      return recorder_.add_named(SpanKind::wait, "buffers", begin, end);
  }
}

}  // namespace gradwire

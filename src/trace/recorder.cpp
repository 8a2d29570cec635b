#include "trace/recorder.h"

#include <algorithm>

#include "base/error.h"

namespace gradwire {

Seconds on_steady_clock(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

Seconds steady_now() { return on_steady_clock(std::chrono::steady_clock::now()); }

// Filling the records touches their memory now instead of in a step.
Recorder::Recorder(std::size_t capacity) : records_(capacity) {}

void Recorder::put(const Record& record) {
  const auto place = used_.fetch_add(1, std::memory_order_relaxed);
  if (place < records_.size()) records_[place] = record;
}

void Recorder::add(SpanKind kind, Seconds begin, Seconds end) { add_named(kind, nullptr, begin, end); }

void Recorder::add_named(SpanKind kind, const char* name, Seconds begin, Seconds end, StagePart part) {
  put({kind, step(), -1, name, 0, {0, begin, end}, part});
}

void Recorder::add_bucket(int bucket, Bytes bytes, const BucketTimes& times) {
  add_collective("bucket", bucket, bytes, times);
}

void Recorder::add_collective(const char* name, int unit, Bytes bytes, const BucketTimes& times) {
  put({SpanKind::bucket, step(), unit, name, bytes, times});
}

void Recorder::add_rehearsed(const RehearsedCall& call, int number, Bytes bytes, const BucketTimes& times) {
  put({SpanKind::bucket, step(), number, nullptr, bytes, times, {}, &call});
}

void Recorder::set_step(int step) {
  if (marks() != nullptr) resolve();
  step_.store(step, std::memory_order_relaxed);
}

void Recorder::add_late(LateSpan span) {
  const Lock lock(mutex_);
  pending_.push_back({step(), std::move(span)});
}

void Recorder::resolve() {
  const Lock lock(mutex_);
  std::erase_if(pending_, [this](const Pending& late) {
    const auto times = late.span.find();
    if (times)
      put({late.span.kind, late.step, late.span.bucket, late.span.name, late.span.bytes, *times,
           late.span.part});
    return times.has_value();
  });
}

// A mark that could not be made leaves the span out, and it counts as dropped.
void Timed::add_late() {
  recorder_->add_late(
      {.kind = kind_,
       .name = name_,
       .part = part_,
       .find = [begin = std::move(late_begin_), end = marks_->mark()] {
         const auto last = end ? end() : std::nullopt;
         const auto first = last && begin ? begin() : std::nullopt;
         return first ? std::optional(Recorder::BucketTimes{*first, *first, *last}) : std::nullopt;
       }});
}

std::vector<Span> Recorder::spans(Rank rank, Seconds offset) const {
  std::vector<Span> result;
  const auto count = std::min(used_.load(), records_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Record& record = records_[i];
    Span span{.rank = rank,
              .step = record.step,
              .kind = record.kind,
              .name = record.name ? record.name : "",
              .begin = record.times.begin + offset,
              .end = record.times.end + offset,
              .part = record.part};
    if (record.kind == SpanKind::bucket) {
      if (record.rehearsed) span.rehearsed = *record.rehearsed;
      span.name = fmt::format("{} {}",
                              record.rehearsed ? name_of(*record.rehearsed)
                              : record.name    ? record.name
                                               : "bucket",
                              record.bucket);
      span.bucket = record.bucket;
      span.bytes = record.bytes;
      span.ready = record.times.ready + offset;
    }
    result.push_back(std::move(span));
  }
  return result;
}

std::size_t Recorder::dropped() const {
  const Lock lock(mutex_);
  const auto used = used_.load();
  return (used > records_.size() ? used - records_.size() : 0) + pending_.size();
}

const char* SpanNames::of(const std::string& name) {
  auto& kept = names_[name];
  if (!kept) kept = std::make_unique<std::string>(name);
  return kept->c_str();
}

void Recorder::clear() {
  const Lock lock(mutex_);
  used_ = 0;
  pending_.clear();
}

}  // namespace gradwire

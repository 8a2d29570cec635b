// Takes down spans of one rank while it trains, in memory set aside beforehand: a record costs a clock
// reading and a few stores, no lock and no allocation. Any thread may record. When the memory is full further
// spans are counted and dropped.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace gradwire {

// Seconds on this host's steady clock (CLOCK_MONOTONIC): what all times given to a recorder are.
Seconds steady_now();
Seconds on_steady_clock(std::chrono::steady_clock::time_point);

class Recorder {
 public:
  explicit Recorder(std::size_t capacity = 1 << 16);

  // The number that spans recorded from now on get. Called by the thread that trains, between steps.
  void set_step(int step) { step_.store(step, std::memory_order_relaxed); }
  int step() const { return step_.load(std::memory_order_relaxed); }

  void add(SpanKind, Seconds begin, Seconds end);
  void add_named(SpanKind, const char* name, Seconds begin, Seconds end);  // `name` outlives the recorder
  struct BucketTimes {
    Seconds ready = 0, begin = 0, end = 0;
  };
  void add_bucket(int bucket, Bytes bytes, const BucketTimes&);
  // Another collective of a bucket or unit, "gather 3" say; `name` outlives the recorder.
  void add_collective(const char* name, int unit, Bytes bytes, const BucketTimes&);

  // What was recorded, with `offset` added to every time (clocks.h of train/ measures it). Call when no
  // thread records.
  std::vector<Span> spans(Rank rank, Seconds offset = 0) const;
  std::size_t dropped() const;
  void clear();

 private:
  struct Record {
    SpanKind kind;
    std::int32_t step, bucket;
    const char* name;
    Bytes bytes;
    Seconds ready, begin, end;
  };
  void put(const Record&);

  std::vector<Record> records_;
  std::atomic<std::size_t> used_{0};  // may go beyond the capacity: the rest was dropped
  std::atomic<int> step_{0};
};

// Records the time from its making to its end as a span. `recorder` may be null: then nothing happens.
class Timed {
 public:
  Timed(Recorder* recorder, SpanKind kind, const char* name = nullptr)
      : recorder_(recorder), kind_(kind), name_(name), begin_(recorder ? steady_now() : 0) {}
  ~Timed() {
    if (recorder_) recorder_->add_named(kind_, name_, begin_, steady_now());
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Recorder* const recorder_;
  const SpanKind kind_;
  const char* const name_;
  const Seconds begin_;
};

}  // namespace gradwire

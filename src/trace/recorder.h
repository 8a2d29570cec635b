// Takes down spans of one rank while it trains, in memory set aside beforehand: a record costs a clock
// reading and a few stores, no lock and no allocation. Any thread may record. When the memory is full further
// spans are counted and dropped.
//
// Of a device that works on while the host has gone on, times are known later: with set_marks() a span's begin and end are
// where the device's stream comes to, taken down when the device has been there (between steps, and by resolve()).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "trace/timeline.h"

namespace gradwire {

// Seconds on this host's steady clock (CLOCK_MONOTONIC): what all times given to a recorder are.
Seconds steady_now();
Seconds on_steady_clock(std::chrono::steady_clock::time_point);

// A moment that may not have come yet: seconds on the steady clock, or nothing so far.
using LateTime = std::function<std::optional<Seconds>()>;

class DeviceMarks {
 public:
  virtual ~DeviceMarks() = default;
  // When the device has done what the calling thread gave it so far. Empty when it can't be told: nothing is thrown.
  virtual LateTime mark() noexcept = 0;
};

class Recorder {
 public:
  explicit Recorder(std::size_t capacity = 1 << 16);

  // The number that spans recorded from now on get. Called by the thread that trains, between steps.
  void set_step(int step);
  int step() const { return step_.load(std::memory_order_relaxed); }

  void add(SpanKind, Seconds begin, Seconds end);
  // `name` outlives the recorder.
  void add_named(SpanKind, const char* name, Seconds begin, Seconds end, StagePart part = {});
  struct BucketTimes {
    Seconds ready = 0, begin = 0, end = 0;
  };
  void add_bucket(int bucket, Bytes bytes, const BucketTimes&);
  // Another collective of a bucket or unit, "gather 3" say; `name` outlives the recorder.
  void add_collective(const char* name, int unit, Bytes bytes, const BucketTimes&);
  // One that nobody answered; `call` outlives the recorder.
  void add_rehearsed(const RehearsedCall& call, int number, Bytes bytes, const BucketTimes&);

  // From now on spans are of the device. `marks` outlives their recording; null: of the host again.
  void set_marks(DeviceMarks* marks) { marks_.store(marks, std::memory_order_relaxed); }
  DeviceMarks* marks() const { return marks_.load(std::memory_order_relaxed); }
  // A span of the present step whose times `find` gives when they are known; `bucket` -1: of the compute lane.
  struct LateSpan {
    SpanKind kind = SpanKind::other;
    const char* name = nullptr;
    int bucket = -1;
    Bytes bytes = 0;
    StagePart part = {};
    std::function<std::optional<BucketTimes>()> find;
  };
  void add_late(LateSpan span);
  void resolve();  // takes down what has become known

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
    BucketTimes times;
    StagePart part = {};
    const RehearsedCall* rehearsed = nullptr;
  };
  struct Pending {
    int step;
    LateSpan span;
  };
  void put(const Record&);

  std::vector<Record> records_;
  std::atomic<std::size_t> used_{0};  // may go beyond the capacity: the rest was dropped
  std::atomic<int> step_{0};
  std::atomic<DeviceMarks*> marks_{nullptr};
  mutable Mutex mutex_;
  std::vector<Pending> pending_ GUARDED_BY(mutex_);
};

// Names of spans that are made while a rank trains: a recorder keeps pointers to them, so they stay.
class SpanNames {
 public:
  const char* of(const std::string& name);

 private:
  std::map<std::string, std::unique_ptr<std::string>> names_;
};

// Records the time from its making to its end as a span. `recorder` may be null: then nothing happens.
class Timed {
 public:
  Timed(Recorder* recorder, SpanKind kind, const char* name = nullptr, StagePart part = {})
      : recorder_(recorder),
        kind_(kind),
        name_(name),
        part_(part),
        marks_(recorder ? recorder->marks() : nullptr),
        begin_(recorder && !marks_ ? steady_now() : 0),
        late_begin_(marks_ ? marks_->mark() : LateTime()) {}
  ~Timed() {
    if (marks_)
      add_late();
    else if (recorder_)
      recorder_->add_named(kind_, name_, begin_, steady_now(), part_);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  void add_late();

  Recorder* const recorder_;
  const SpanKind kind_;
  const char* const name_;
  const StagePart part_;
  DeviceMarks* const marks_;
  const Seconds begin_;
  LateTime late_begin_;
};

}  // namespace gradwire

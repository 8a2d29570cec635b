// A fabric of simulated time: the programs that move real bytes run here on a model of a machine.
//
// Messages are a rendezvous, in order for each pair: send and recv meet when both have started; after the
// way's latency the bytes begin to flow, one message of a way at a time (the latency of one passes while
// another flows), at the rate that max-min fair sharing gives it at every moment; then both end. Sums and
// copies of a rank take turns, at the cost model's rates; compute lasts its duration. One thread.
#pragma once

#include <vector>

#include "sched/run.h"
#include "sim/cost.h"
#include "sim/moments.h"
#include "sim/network.h"
#include "sim/sharing.h"

namespace gradwire {

// How many bytes the chunks of simulated programs have, the same on every rank.
class Chunks {
 public:
  explicit Chunks(const std::vector<Bytes>& sizes);  // of chunk 0, 1, ... of `out` and `in`
  Bytes bytes(const Slice& slice) const { return begin_[slice.like + slice.count] - begin_[slice.like]; }
  int count() const { return static_cast<int>(begin_.size()) - 1; }

 private:
  std::vector<Bytes> begin_;
};

// As a real collective divides its data (sched/layout.h): `bytes` is what the larger of `in` and `out` holds,
// in elements of four bytes if it can be, else of one.
Chunks divide_evenly(const Shape& shape, Bytes bytes);

// Every chunk the same.
Chunks equal_chunks(int count, Bytes each);

class ModelFabric final : public Fabric {
 public:
  // All three must outlive this. Throws ConfigError for a cost model that can't be.
  ModelFabric(const Network& network, const CostModel& cost, const Chunks& chunks);

  void start(StepId id, const Step& step) override;  // throws ConfigError when a message has no way
  Event next() override;                             // throws Error: "stuck: ..."

  Seconds now() const { return now_; }
  std::uint64_t messages() const { return messages_carried_; }

 private:
  enum Kind : std::int32_t { step_ends, message_begins, flow_ends };
  enum class State : std::uint8_t { idle, waiting, flowing };

  // In line on its way from the moment one side has started.
  struct Message {
    StepId send = {.rank = 0, .index = -1}, recv = {.rank = 0, .index = -1};  // index -1: not started yet
    Seconds send_begin = 0, recv_begin = 0;
    Seconds arrives = 0;  // when its first byte could be there, known when both have started
    Bytes bytes = 0;
    const Step* step = nullptr;  // of the side that started first
    std::int32_t next = -1;
  };
  struct Way {
    std::int32_t head = -1, tail = -1;
    std::int32_t open = -1;  // the first message in line that has only one side
    State state = State::idle;
    std::int32_t version = 0;  // of the flow's end; others that are still to happen count no more
    double rate = 0, remaining = 0;
    Seconds since = 0;  // when `remaining` was so much
  };
  struct Lookup {
    Rank peer = -1;
    WayId way = -1;
  };

  WayId way_of(StepId id, const Step& step);
  void post(StepId id, const Step& step);
  void meet(WayId way);
  void advance(WayId way);
  void begin(WayId way);
  void finish(WayId way);
  void occupy(StepId id, Bytes bytes, Seconds duration);
  void end_at(Seconds time, const Event& event);
  void settle();
  void happen(const Happening& happening);
  void drop_stale();
  [[noreturn]] void throw_stuck() const;

  const Network& network_;
  const CostModel& cost_;
  const Chunks& chunks_;
  Sharing sharing_;
  Moments moments_;
  Seconds now_ = 0;

  std::vector<Way> ways_;
  std::vector<Message> messages_;
  std::vector<std::int32_t> free_messages_;
  std::vector<Event> steps_;  // sums, copies and computing under way
  std::vector<std::int32_t> free_steps_;
  std::vector<Seconds> busy_until_;          // by rank: with sums and copies
  std::vector<Lookup> last_to_, last_from_;  // by rank: most messages go where the last one went
  std::vector<Event> done_;                  // those before taken_ have been handed out
  std::size_t taken_ = 0;
  std::vector<Happening> happening_;
  std::size_t stale_ = 0;  // ends of flows among moments_ that count no more
  std::uint64_t messages_carried_ = 0;
};

}  // namespace gradwire

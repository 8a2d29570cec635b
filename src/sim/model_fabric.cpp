#include "sim/model_fabric.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "sched/layout.h"
#include "sched/set_fabric.h"

namespace gradwire {
namespace {

constexpr std::size_t kStaleAllowed = 4096;

// A place in `pool`, one given back if there is one.
template <typename T>
std::int32_t keep(std::vector<T>& pool, std::vector<std::int32_t>& free, const T& value) {
  if (free.empty()) {
    pool.push_back(value);
    return static_cast<std::int32_t>(pool.size()) - 1;
  }
  const std::int32_t place = free.back();
  free.pop_back();
  pool[place] = value;
  return place;
}

}  // namespace

Chunks::Chunks(const std::vector<Bytes>& sizes) : begin_{0} {
  for (const Bytes size : sizes) begin_.push_back(begin_.back() + size);
}

Chunks divide_evenly(const Shape& shape, Bytes bytes) {
  const std::size_t element = bytes % 4 == 0 ? 4 : 1;
  const Layout layout(shape, bytes / element, element);
  std::vector<Bytes> sizes;
  for (int chunk = 0; chunk < std::max({shape.chunks[kOut], shape.chunks[kIn], 1}); ++chunk)
    sizes.push_back(layout.bytes(out(chunk)));
  return Chunks(sizes);
}

Chunks equal_chunks(int count, Bytes each) {
  return Chunks(std::vector<Bytes>(static_cast<std::size_t>(count), each));
}

ModelFabric::ModelFabric(const Network& network, const CostModel& cost, const Chunks& chunks)
    : network_(network),
      cost_(cost),
      chunks_(chunks),
      sharing_((check_cost(cost), network), cost.efficiency),
      ways_(static_cast<std::size_t>(network.ways())),
      busy_until_(static_cast<std::size_t>(network.world())),
      last_to_(busy_until_.size()),
      last_from_(busy_until_.size()) {}

void ModelFabric::start(StepId id, const Step& step) {
  switch (step.op) {
    case Op::send:
    case Op::recv:
      return post(id, step);
    case Op::reduce:
      return occupy(id, chunks_.bytes(step.src), cost_.reduce(chunks_.bytes(step.src)));
    case Op::copy:
      return occupy(id, chunks_.bytes(step.src), cost_.copy(chunks_.bytes(step.src)));
    case Op::compute:
      return end_at(now_ + step.duration, {id, now_, now_ + step.duration, 0});
  }
}

void ModelFabric::occupy(StepId id, Bytes bytes, Seconds duration) {
  Seconds& busy_until = busy_until_[id.rank];
  const Seconds begin = std::max(now_, busy_until);
  busy_until = begin + duration;
  end_at(busy_until, {id, begin, busy_until, bytes});
}

void ModelFabric::end_at(Seconds time, const Event& event) {
  if (time <= now_) return done_.push_back(event);
  moments_.add(time, {step_ends, keep(steps_, free_steps_, event), 0});
}

WayId ModelFabric::way_of(StepId id, const Step& step) {
  Lookup& last = (step.op == Op::send ? last_to_ : last_from_)[id.rank];
  if (last.peer != step.peer)
    last = {step.peer,
            network_.way(step.op == Op::send ? Pair{id.rank, step.peer} : Pair{step.peer, id.rank})};
  return last.way;
}

void ModelFabric::post(StepId id, const Step& step) {
  const bool sends = step.op == Op::send;
  const WayId at = way_of(id, step);
  Way& way = ways_[at];
  const bool meets = way.open >= 0 && (messages_[way.open].send.index < 0) == sends;
  if (!meets) {
    const std::int32_t place = keep(messages_, free_messages_, {.step = &step});
    (way.tail < 0 ? way.head : messages_[way.tail].next) = place;
    way.tail = place;
    if (way.open < 0) way.open = place;
  }
  Message& message = messages_[meets ? way.open : way.tail];
  (sends ? message.send : message.recv) = id;
  (sends ? message.send_begin : message.recv_begin) = now_;
  if (sends) message.bytes = chunks_.bytes(step.src);
  if (meets) meet(at);
}

void ModelFabric::meet(WayId at) {
  Way& way = ways_[at];
  Message& message = messages_[way.open];
  message.arrives = now_ + network_.latency(at);
  way.open = message.next;
  ++messages_carried_;
  advance(at);
}

// Lets the first message in line begin once both sides have started and those before it have gone.
void ModelFabric::advance(WayId at) {
  Way& way = ways_[at];
  while (way.state == State::idle && way.head >= 0 && way.head != way.open) {
    const Seconds time = std::max(now_, messages_[way.head].arrives) + cost_.per_message;
    if (time > now_) {
      way.state = State::waiting;
      return moments_.add(time, {message_begins, at, 0});
    }
    begin(at);
  }
}

void ModelFabric::begin(WayId at) {
  Way& way = ways_[at];
  const Bytes bytes = messages_[way.head].bytes;
  if (bytes == 0 || network_.route(at).empty()) return finish(at);
  way.state = State::flowing;
  way.remaining = static_cast<double>(bytes);
  way.rate = 0;
  way.since = now_;
  sharing_.begin(at);
}

void ModelFabric::happen(const Happening& happening) {
  if (happening.kind == step_ends) {
    done_.push_back(steps_[happening.what]);
    return free_steps_.push_back(happening.what);
  }
  Way& way = ways_[happening.what];
  if (happening.kind == message_begins) {
    begin(happening.what);
  } else if (happening.version == way.version) {
    ++way.version;
    sharing_.end(happening.what);
    finish(happening.what);
  } else {
    --stale_;
    return;
  }
  advance(happening.what);
}

void ModelFabric::finish(WayId at) {
  Way& way = ways_[at];
  const std::int32_t place = way.head;
  const Message& message = messages_[place];
  done_.push_back({message.send, message.send_begin, now_, message.bytes});
  done_.push_back({message.recv, message.recv_begin, now_, message.bytes});
  way.head = message.next;
  if (way.head < 0) way.tail = -1;
  way.state = State::idle;
  free_messages_.push_back(place);
}

// Flows that have another rate than before end at another time.
void ModelFabric::settle() {
  for (const WayId at : sharing_.settle()) {
    Way& way = ways_[at];
    if (way.rate > 0) {
      way.remaining = std::max(0.0, way.remaining - way.rate * (now_ - way.since));
      ++way.version;
      ++stale_;
    }
    way.since = now_;
    way.rate = sharing_.rate(at);
    moments_.add(now_ + way.remaining / way.rate, {flow_ends, at, way.version});
  }
  if (stale_ > moments_.size() / 2 + kStaleAllowed) drop_stale();
}

void ModelFabric::drop_stale() {
  moments_.drop_if([&](const Happening& happening) {
    return happening.kind == flow_ends && happening.version != ways_[happening.what].version;
  });
  stale_ = 0;
}

Event ModelFabric::next() {
  if (taken_ == done_.size()) {
    done_.clear();
    taken_ = 0;
  }
  while (done_.empty()) {
    settle();
    if (moments_.empty()) throw_stuck();
    now_ = moments_.take(happening_);
    for (const Happening& happening : happening_) happen(happening);
  }
  return done_[taken_++];
}

void ModelFabric::throw_stuck() const {
  std::vector<std::string> waiting;
  for (const Way& way : ways_) {
    if (way.open < 0 || waiting.size() == 8) continue;
    const Message& message = messages_[way.open];
    waiting.push_back(describe(message.send.index < 0 ? message.recv : message.send, *message.step));
  }
  throw Error(fmt::format("stuck: these wait for each other: {}", fmt::join(waiting, "; ")));
}

}  // namespace gradwire

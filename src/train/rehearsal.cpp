#include "train/rehearsal.h"

#include <algorithm>
#include <cstring>

#include "train/sharded/unit_tags.h"

namespace gradwire {
namespace {

// Bytes as `gradwire bench` counts them: the buffer of all ranks, or the message.
Bytes bytes_of_call(const Call& call) {
  Bytes bytes = std::max(call.in.size(), call.out.size());
  for (const Message& message : call.messages)
    bytes = std::max({bytes, message.out ? message.out->size() : 0, message.in ? message.in->size() : 0});
  return bytes;
}

const std::byte* memory_of_call(const Call& call) {
  if (!call.messages.empty()) {
    const Message& message = call.messages.front();
    return message.out ? message.out->data() : message.in ? message.in->data() : nullptr;
  }
  return call.in.empty() ? call.out.data() : call.in.data();
}

void answer(const Call& call, Rank rank, int ranks) {
  for (const Message& message : call.messages)
    if (message.in && !message.in->empty()) std::memset(message.in->data(), 0, message.in->size());
  const std::size_t part = call.out.size();
  switch (call.kind) {
    case Collective::all_gather:
      for (int peer = 0; peer < ranks; ++peer)
        copy_bytes(call.out.data() + static_cast<std::size_t>(peer) * call.in.size(), call.in.data(),
                   call.in.size());
      return;
    case Collective::reduce_scatter:
      return copy_bytes(call.out.data(), call.in.data() + static_cast<std::size_t>(rank) * part, part);
    case Collective::all_reduce:
      return copy_bytes(call.out.data(), call.in.data(), part);
    default:
      return;  // what it has stays
  }
}

class Rehearsed final : public Communicator {
 public:
  Rehearsed(Rehearsal& rehearsal, std::unique_ptr<Communicator> real, std::string group)
      : rehearsal_(rehearsal), real_(std::move(real)), group_(std::move(group)) {}

  Rank rank() const override { return real_->rank(); }
  int size() const override { return real_->size(); }
  std::string name() const override { return real_->name(); }
  Carrier carrier() const override {
    return Carrier::network;
  }  // whichever, it may be that of other machines
  void abort() override { real_->abort(); }

  std::unique_ptr<Work> start(const Call& call) override;
  void run(const Call& call) override {
    if (rehearsal_.trace() == nullptr) return real_->run(call);
    const Seconds now = steady_now();
    end(call, {take_number(), now, now});
  }

  Memory allocate(std::size_t bytes) override {
    Memory memory = real_->allocate(bytes);
    own_.push_back(memory.bytes());
    return memory;
  }

  // A call that was asked for, since when it has been needed.
  struct Asked {
    int number = 0;
    Seconds asked = 0, needed = 0;
  };
  void end(const Call& call, const Asked& when) {
    answer(call, rank(), size());
    Recorder* const trace = rehearsal_.trace();
    if (trace == nullptr) return;
    const auto& what =
        rehearsal_.keep({call.kind, !is_own(memory_of_call(call)), group_, is_fetch(call.tag)});
    trace->add_rehearsed(what, when.number, bytes_of_call(call), {when.asked, when.needed, steady_now()});
  }
  int take_number() { return calls_++; }

 private:
  bool is_own(const std::byte* memory) const {
    return std::any_of(own_.begin(), own_.end(), [&](std::span<std::byte> block) {
      return memory >= block.data() && memory < block.data() + block.size();
    });
  }

  Rehearsal& rehearsal_;
  const std::unique_ptr<Communicator> real_;
  const std::string group_;
  std::vector<std::span<std::byte>> own_;  // what was allocated, and may be gone
  int calls_ = 0;
};

// A quiet call that was started and is not needed yet.
class RehearsedWork final : public Work {
 public:
  RehearsedWork(Rehearsed& among, const Call& call)
      : among_(among), call_(call), number_(among.take_number()) {}
  bool done() override { return ended_; }
  void wait() override {
    if (!std::exchange(ended_, true)) among_.end(call_, {number_, asked_, steady_now()});
  }
  std::optional<WorkTimes> times() const override { return std::nullopt; }

 private:
  Rehearsed& among_;
  const Call call_;
  const int number_;
  const Seconds asked_ = steady_now();
  bool ended_ = false;
};

std::unique_ptr<Work> Rehearsed::start(const Call& call) {
  if (rehearsal_.trace() == nullptr) return real_->start(call);
  return std::make_unique<RehearsedWork>(*this, call);
}

}  // namespace

std::unique_ptr<Communicator> Rehearsal::among(std::unique_ptr<Communicator> real, std::string group) {
  if (real->size() == 1) return real;  // it never waits for anybody
  return std::make_unique<Rehearsed>(*this, std::move(real), std::move(group));
}

}  // namespace gradwire

// The fabric of real collectives: sends and receives go to a Transport, sums and copies are done here, after
// all messages that could be posted have been. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "base/collective.h"
#include "comm/kernels/kernels.h"
#include "net/transport.h"
#include "sched/layout.h"
#include "sched/run.h"

namespace gradwire {

// What a program's buffers are in one call.
struct Binding {
  Signature signature;
  Layout layout;
  std::byte* buffers[kBuffers];

  std::span<std::byte> at(const Slice& slice) const {
    return {buffers[slice.buffer] + layout.offset(slice), static_cast<std::size_t>(layout.bytes(slice))};
  }
};

class WireFabric final : public Fabric {
 public:
  explicit WireFabric(Transport& transport);

  // For the next run; `binding` stays until its end. `timed` makes its events carry times, counted from the
  // fabric's birth, and bytes. `timeout` is how long nothing may arrive.
  void bind(const Binding& binding, bool timed, Seconds timeout);

  void start(StepId id, const Step& step) override;
  // Waits no longer than the timeout for something to end. Throws what Transport::wait_any throws.
  Event next() override;

 private:
  struct Ready {
    std::int32_t index;
    const Step* step;
  };
  void execute(const Step& step) const;
  void reduce(const Step& step) const;
  Event finish(std::int32_t index);
  Seconds now() const;

  Transport& transport_;
  const Isa isa_;
  const std::chrono::steady_clock::time_point birth_;

  const Binding* binding_ = nullptr;
  bool timed_ = false;
  Seconds timeout_ = 0;
  std::vector<Ready> ready_;  // sums and copies, those before executed_ done
  std::size_t executed_ = 0;
  std::vector<Event> begun_;  // by step, when timed
};

}  // namespace gradwire

// When a GPU came to a point in a stream's work, on the host's steady clock. The host never waits for it: a mark is an
// event that carries time, and its moment is asked for later. CUDA tells how long lies between two events, so one is
// anchored: recorded on an idle stream and seen at once, which says what the host's clock was then. The anchor is renewed
// every second, because the clocks drift and CUDA counts in floats.
//
// Marks and clock belong to one GPU. Any thread may use them, whatever its current GPU is.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/units.h"
#include "comm/nccl/gpu.h"

namespace gradwire {

struct ClockAnchor {
  CudaEvent event{CudaEvent::Timing::on};
  Seconds host = 0;
};

class TimedMark {
 public:
  TimedMark(std::shared_ptr<const ClockAnchor> anchor, CudaEvent event)
      : anchor_(std::move(anchor)), event_(std::move(event)) {}
  // Nothing until the GPU has come there.
  std::optional<Seconds> find() const;

 private:
  std::shared_ptr<const ClockAnchor> anchor_;
  CudaEvent event_;
};

class CudaClock {
 public:
  // `host` is for tests; unset, it is the steady clock.
  explicit CudaClock(int device, std::function<Seconds()> host = {});
  TimedMark mark(cudaStream_t stream);

 private:
  std::shared_ptr<const ClockAnchor> fresh_anchor();

  const int device_;
  const std::function<Seconds()> host_;
  Mutex mutex_;
  std::unique_ptr<CudaStream> stream_ GUARDED_BY(mutex_);  // with nothing on it but anchors
  std::shared_ptr<const ClockAnchor> anchor_ GUARDED_BY(mutex_);
};

}  // namespace gradwire

#include "comm/nccl/cuda_clock.h"

#include "base/deadline.h"
#include "base/error.h"
#include "net/backoff.h"

namespace gradwire {
namespace {

constexpr Seconds kAnchorHolds = 1, kAnchorTakes = 10;

Seconds host_seconds() {
  return std::chrono::duration<Seconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void wait_for_anchor(const CudaEvent& event) {
  const Deadline deadline = Deadline::after(kAnchorTakes);
  Backoff(1).wait([&] { return event.reached(); },
                  [&] {
                    if (deadline.passed()) throw Timeout("a GPU did not come to an event on an idle stream");
                  });
}

}  // namespace

std::optional<Seconds> TimedMark::find() const {
  if (!event_.reached()) return std::nullopt;
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, anchor_->event.get(), event_.get()), "cudaEventElapsedTime");
  return anchor_->host + static_cast<Seconds>(ms) * 1e-3;
}

CudaClock::CudaClock(int device, std::function<Seconds()> host)
    : device_(device), host_(host ? std::move(host) : host_seconds) {}

TimedMark CudaClock::mark(cudaStream_t stream) {
  const OnDevice current(device_);
  auto anchor = fresh_anchor();
  CudaEvent event(CudaEvent::Timing::on);
  event.record(stream);
  return {std::move(anchor), std::move(event)};
}

// The GPU was there between the two looks at the clock: in the middle, as far as one can tell.
std::shared_ptr<const ClockAnchor> CudaClock::fresh_anchor() {
  const Lock lock(mutex_);
  const Seconds now = host_();
  if (anchor_ && now - anchor_->host < kAnchorHolds) return anchor_;
  if (!stream_) stream_ = std::make_unique<CudaStream>();
  auto anchor = std::make_shared<ClockAnchor>();
  anchor->event.record(stream_->get());
  wait_for_anchor(anchor->event);
  anchor->host = (now + host_()) / 2;
  return anchor_ = std::move(anchor);
}

}  // namespace gradwire

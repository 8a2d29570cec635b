// A moment on the steady clock until which a wait may last. A value; every wait in Gradwire takes one.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/units.h"

namespace gradwire {

class Deadline {
 public:
  static Deadline after(Seconds seconds) {
    // A century is "never"; more would overflow the clock.
    const std::chrono::duration<double> wait(std::clamp(seconds, 0.0, 3e9));
    return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(wait));
  }

  static Deadline never() { return after(3e9); }

  bool passed() const { return Clock::now() >= at_; }
  Seconds remaining() const {
    return std::max(0.0, std::chrono::duration<double>(at_ - Clock::now()).count());
  }
  // For poll() and epoll_wait(): rounded up, so that a wait never ends before its deadline.
  int remaining_ms() const { return static_cast<int>(std::min(remaining() * 1e3 + 1, 1e9)); }
  std::chrono::steady_clock::time_point time_point() const { return at_; }
  bool operator<(const Deadline& other) const { return at_ < other.at_; }  // so std::min() is the sooner one

 private:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace gradwire

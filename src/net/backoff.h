// How a rank waits for something another core will do soon, without a kernel object to block on.
//
// While the ranks of a host have a core each it spins, so that it reacts within tens of nanoseconds; when
// they outnumber the cores it yields at once, because the rank waited for may need this very core. A wait
// that grows longer yields and then naps for a small share of the time already waited, so that a core is left
// to those who compute. A value without state between waits; any thread may use it.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/cpu.h"
#include "net/world.h"

namespace gradwire {

// The pauses of one wait, in order: spin, yield, nap.
class Pause {
 public:
  explicit Pause(bool spin) : spins_left_(spin ? kSpinsPerLook : 0), spin_(spin) {}

  // Lets some time pass. True every few hundred microseconds: then look at clocks, peers and orders to stop.
  bool step() {
    if (spins_left_ > 0) [[likely]] {
      --spins_left_;
      cpu_pause();
      return false;
    }
    return step_slowly();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kSpinsPerLook = 256;  // 5 to 10 us: reading the clock is no longer felt

  bool step_slowly();
  bool check_is_due(Clock::time_point now);

  int spins_left_;
  bool spin_;
  bool started_ = false;
  Clock::time_point start_, last_check_;
};

class Backoff {
 public:
  // For `ranks` ranks that share this host's `cores`.
  explicit Backoff(int ranks, int cores = usable_cores()) : spin_(ranks <= cores) {}

  bool spins() const { return spin_; }

  // Returns once condition() holds, which costs one call of it when it holds already. check() is called about
  // every quarter of a millisecond of waiting and gives up by throwing.
  template <typename Condition, typename Check>
  void wait(Condition&& condition, Check&& check) const {
    if (condition()) [[likely]]
      return;
    Pause pause(spin_);
    do {
      if (pause.step()) check();
    } while (!condition());
  }

 private:
  bool spin_;
};

// All ranks of the world call it. Counts the ranks on this host and the cores that any of them may use, so
// that ranks bound to a core each are seen to have one.
Backoff backoff_for(const World& world, Deadline deadline);

}  // namespace gradwire

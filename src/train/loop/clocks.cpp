#include "train/loop/clocks.h"

#include <array>
#include <cmath>

#include "trace/recorder.h"

namespace gradwire {

// Rank 0 leaves the barrier after every rank has entered it, and reads its clock then; the others get the
// reading afterwards. So it was taken between the two moments each rank notes on its own clock.
ClockOffset align_clocks(Communicator& communicator, const std::function<Seconds()>& clock, int rounds) {
  const auto now = clock ? clock : steady_now;
  ClockOffset best{0, INFINITY};
  for (int round = 0; round < rounds; ++round) {
    std::array<double, 1> stamp{};
    const Seconds asked = now();
    communicator.run(barrier());
    if (communicator.rank() == 0) stamp[0] = now();
    communicator.run(broadcast(bytes_of(stamp), DType::f64, 0));
    const Seconds answered = now();
    if (const Seconds half = (answered - asked) / 2; half < best.uncertainty)
      best = {stamp[0] - (asked + half), half};
  }
  if (communicator.rank() == 0) return {0, 0};
  if (std::abs(best.offset) <= best.uncertainty) best.offset = 0;
  return best;
}

}  // namespace gradwire

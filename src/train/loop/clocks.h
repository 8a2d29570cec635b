// What to add to this rank's steady clock to get rank 0's: measured by asking rank 0 for its time over and
// over and believing the quickest answer. Between hosts clocks differ by their uptimes; on one host they are
// the same.
#pragma once

#include <functional>

#include "comm/communicator.h"

namespace gradwire {

struct ClockOffset {
  Seconds offset = 0;  // 0 where the clocks agree as well as can be measured
  Seconds uncertainty =
      0;  // the true offset is within this of the measured one: half the quickest round trip
};

// All ranks call it. `clock` is for tests; unset, it is steady_now().
ClockOffset align_clocks(Communicator& communicator, const std::function<Seconds()>& clock = {},
                         int rounds = 50);

}  // namespace gradwire

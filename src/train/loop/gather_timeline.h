// The ranks' recordings as one timeline, on rank 0's clock.
#pragma once

#include <string>

#include "comm/communicator.h"
#include "trace/recorder.h"
#include "train/loop/clocks.h"

namespace gradwire {

// All ranks call it after their last step; each gets the whole timeline, which begins at 0.
Timeline gather_timeline(Communicator& communicator, const Recorder& recorder, const ClockOffset& clock,
                         const std::string& source);

}  // namespace gradwire

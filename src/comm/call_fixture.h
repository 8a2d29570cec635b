// For tests: a call of a backend's collectives without a queue.
#pragma once

#include "comm/collectives.h"

namespace gradwire {

inline void run_call(Collectives& group, const Call& call, std::uint64_t sequence = 0) {
  group.run(call, check_call(call, group.size(), sequence));
}

}  // namespace gradwire

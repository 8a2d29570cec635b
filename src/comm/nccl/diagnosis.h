// What became of a call that did not end: NCCL says little, so the ranks put together what each knows. Talks
// to the store, for about a second at most.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "base/collective.h"
#include "comm/nccl/roster.h"

namespace gradwire {

struct FailedCall {
  Rank rank = 0;                  // this one
  std::optional<Signature> call;  // nothing while the communicator is made or finished
  bool timed_out = false;
  std::string symptom;  // "waited 5 s", "NCCL says: ..."
};

// PeerLost when a rank is gone, Mismatch when ranks are in different calls, else Timeout or TransportError
// with who is in the call and who is silent.
std::exception_ptr diagnose(const FailedCall& failure, Roster& roster);

}  // namespace gradwire

// The `nccl` backend: collectives between GPUs by NCCL, on device pointers and streams.
//
// Calls take device memory of the communicator's own GPU: from allocate(), or any other that CUDA gave out
// for it. `in` may still be in the making on Call::stream: start() makes a side stream of the communicator
// wait for that point and puts the collective there, in call order. start() returns when NCCL has it on the
// stream: at once, but for a first call, where NCCL may have to connect to the peers.
//
// The Works are NcclWorks. wait() waits on the host, until World::timeout; wait_on() makes a stream wait and
// leaves the host free.
//
// Any thread may call; NCCL is used by one at a time. The destructor talks to nobody: it aborts what has not
// ended, so wait for the calls before it, on the host or by synchronising the stream that waited on them.
// NCCL itself asks for a common end: call finish() on every rank where the ranks part in peace, because a
// rank that goes first may take away what another's last call still needs.
#pragma once

#include <memory>
#include <optional>

#include "comm/communicator.h"
#include "net/world.h"

namespace gradwire {

class CudaClock;

struct NcclOptions {
  std::optional<int> device = {};  // the GPU, as CUDA counts them in this process; unset: local_rank
  // NCCL hangs or gives wrong data when ranks disagree on a call. With this on, every call first compares its
  // signature with that of all ranks through the store and throws a Mismatch that shows both sides. It costs
  // some round trips to the store for every call, whose entries stay there: for finding mistakes, not for
  // training.
  bool check_calls = false;
};

class NcclWork : public Work {
 public:
  // The stream, a cudaStream_t of any GPU, waits for the call; the host does not. Null is the default stream
  // of the communicator's GPU. What goes wrong later is told by done() and wait().
  virtual void wait_on(void* stream) = 0;
};

class NcclCommunicator : public Communicator {
 public:
  // From the next call on Work::times() tells, once the call has ended, when the GPU was at it, by this clock; null: no
  // longer. Two more events a call.
  virtual void set_clock(std::shared_ptr<CudaClock> clock) = 0;
  // Ends the communicator together with all ranks, after every call made so far. No calls after it.
  virtual void finish() = 0;
};

// An NcclCommunicator. Waits for all ranks until World::timeout: Timeout says which have not come. Throws
// ConfigError, on every rank, when one of them has no such GPU or two share one; and here when Gradwire was
// built without NCCL.
std::unique_ptr<Communicator> make_nccl(const World& world, const NcclOptions& options = {});

}  // namespace gradwire

// Owns a communicator of NCCL's, which is non-blocking: a call may go on in the background after it returned,
// and what became of it is asked with state(). Any thread may call; a lock sees to NCCL's rule that one
// thread at a time uses a communicator and none while it is aborted.
#pragma once

#include <nccl.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "base/mutex.h"

namespace gradwire {

class NcclHandle {
 public:
  NcclHandle() = default;
  ~NcclHandle() { abort(); }
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  // Begins to make a communicator on the thread's current GPU.
  ncclResult_t begin(int size, const ncclUniqueId& id, Rank rank);

  // Gives the communicator to `use`, unless it was aborted.
  ncclResult_t call(const std::function<ncclResult_t(ncclComm_t)>& use);

  // ncclInProgress while NCCL works at what was called last; an error once there was one.
  ncclResult_t state();

  // "remote process error (NCCL error 6): ..." with what NCCL remembers of it.
  std::string explain(ncclResult_t result);

  void abort() noexcept;  // ends what runs on the GPU; talks to nobody
  void destroy();         // for one that was finalized

 private:
  Mutex mutex_;
  ncclComm_t communicator_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace gradwire

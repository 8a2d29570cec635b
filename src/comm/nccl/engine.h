// What a communicator of the nccl backend and its Works share: NCCL's communicator, the side stream, and the
// one way in which all of them wait and fail. Works keep it alive; see nccl.h for what users see of it.
//
// Lock order: order_ before the lock of the state; neither is held while something is waited for, but for
// order_ in start(), which keeps the calls in order.
#pragma once

#include <nccl.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "comm/communicator.h"
#include "comm/nccl/cuda_clock.h"
#include "comm/nccl/gpu.h"
#include "comm/nccl/handle.h"
#include "comm/nccl/nccl.h"
#include "comm/nccl/roster.h"
#include "net/backoff.h"

namespace gradwire {

class NcclEngine : public std::enable_shared_from_this<NcclEngine> {
 public:
  // On the thread's current GPU, which is `device`.
  NcclEngine(const World& world, int device, bool check_calls, std::unique_ptr<Roster> roster);
  void connect();

  const World& world() const { return world_; }
  int device() const { return device_; }

  std::unique_ptr<NcclWork> start(const Call& call);
  void set_clock(std::shared_ptr<CudaClock> clock);
  void finish();
  void give_up(const std::string& why) noexcept;  // what has not ended fails with Cancelled
  void abort();                                   // gives up and tells the others

  // Returns when `ready`. Throws, and breaks the communicator, when a deadline passes, NCCL reports an error
  // or a rank is gone. `call` is what the wait is part of; `timeout` 0: the world's.
  void await(const std::optional<Signature>& call, const std::function<bool()>& ready, Seconds timeout = 0);
  // Whether a wait for what is not ready would throw soon.
  bool in_trouble();
  void throw_if_broken();

 private:
  std::unique_ptr<NcclWork> launch(const Call& call, const Signature& signature) REQUIRES(order_);
  void require_placement(const Call& call, const Signature& signature) REQUIRES(order_);
  void settle(const std::optional<Signature>& call, ncclResult_t returned);
  [[noreturn]] void fail(const std::optional<Signature>& call, bool timed_out, const std::string& symptom);
  std::exception_ptr broken();
  void break_with(std::exception_ptr error) noexcept;

  const World world_;
  const int device_;
  const bool check_calls_;
  const Backoff backoff_;
  const std::unique_ptr<Roster> roster_;

  const CudaStream stream_;  // where the collectives run
  const Memory scratch_;     // what a barrier adds up

  Mutex order_;
  CudaEvent ready_ GUARDED_BY(order_);  // where the caller's stream was when it made the call
  std::shared_ptr<CudaClock> clock_ GUARDED_BY(order_);  // null: calls are not timed
  std::uint64_t sequence_ GUARDED_BY(order_) = 0;
  bool finished_ GUARDED_BY(order_) = false;

  Mutex state_;
  std::exception_ptr broken_
      GUARDED_BY(state_);  // set before the abort, so that an end by abort is no success

  NcclHandle handle_;  // last: it is aborted before its stream goes
};

// Gradwire's words for a collective in NCCL's: which function, on which type, with which operation. Gives a call, which is not a barrier and has its messages spelt out, to NCCL. All of it happens inside: the caller sees to it that the
// communicator is at rest.
ncclResult_t enqueue(const Call& call, ncclComm_t communicator, cudaStream_t stream);

}  // namespace gradwire

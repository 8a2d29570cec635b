// A communicator of the stand-in, as NCCL documents them:
//
// - Operations run on the streams they were given, in call order, and meet those of the other ranks.
// - A non-blocking communicator returns ncclInProgress from every call and does the work in the background:
//   an operation is on its stream only once the state is ncclSuccess again. The stand-in takes its time over
//   that, so that a caller who does not wait finds its events recorded too early.
// - An error is told by ncclCommGetAsyncError; the operation that met it never completes, until abort().
// - Ranks that are not in the same operation, which makes NCCL hang or give wrong data, get ncclInvalidUsage
//   and a text that shows both sides. This is the one place where the stand-in is kinder than NCCL.
//
// One thread at a time may call, as NCCL wants it. With NCCL_DEBUG=WARN errors are printed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "mesh.h"
#include "nccl.h"
#include "operation.h"
#include "task_queue.h"

struct ncclComm : public std::enable_shared_from_this<ncclComm> {
 public:
  ncclComm(const ncclUniqueId& id, const standin::Hello& hello, int device, bool blocking);

  int size() const { return hello_.size; }
  int device() const { return device_; }

  ncclResult_t state();
  // What a call that needs a communicator at rest returns when it is not.
  ncclResult_t check_ready();

  // These return ncclInProgress when the communicator is non-blocking, else what became of it.
  ncclResult_t launch(std::vector<standin::Operation> operations);
  ncclResult_t finalize();

  bool finalized() const { return finalized_; }
  void abort();
  // Until what the calls so far began is done, or has failed.
  void settle() { launcher_.wait_until_idle(); }

 private:
  ncclResult_t begin(std::function<void()> task);
  void put_on_stream(const standin::Operation& operation, std::uint64_t sequence);
  void execute(const standin::Operation& operation, std::uint64_t sequence);
  void report(const standin::Trouble& trouble);

  const standin::Hello hello_;
  const int device_;
  const bool blocking_;

  std::uint64_t calls_ = 0;  // of the thread that calls
  bool finalized_ = false;

  std::uint64_t shared_ = 0;  // operations that all ranks have, of the one whose turn it is
  std::atomic<bool> stop_ = false;
  standin::Mesh mesh_;  // of the operation whose turn it is

  std::mutex mutex_;  // guards the three below
  std::condition_variable changed_;
  ncclResult_t state_ = ncclSuccess;
  std::uint64_t turn_ = 0;
  bool running_ = false;

  standin::TaskQueue launcher_;  // last: its thread uses all of the above
};

namespace standin {

// Remembers the text for ncclGetLastError; returns the result.
ncclResult_t complain(ncclResult_t result, const std::string& text);

}  // namespace standin

#include "communicator.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

using standin::Operation;
using standin::Trouble;

namespace {

// An operation on its way through a stream.
struct Launch {
  std::shared_ptr<ncclComm> communicator;
  Operation operation;
  std::uint64_t sequence;
  void (ncclComm::*execute)(const Operation&, std::uint64_t);
};

// Longer than any caller needs to go on to its next statement.
constexpr std::chrono::microseconds kLaunchTakes(100);

}  // namespace

ncclComm::ncclComm(const ncclUniqueId& id, const standin::Hello& hello, int device, bool blocking)
    : hello_(hello), device_(device), blocking_(blocking), mesh_(stop_) {
  begin([this, id] {
    cudaSetDevice(device_);
    if (const auto trouble = mesh_.connect(id, hello_)) report(*trouble);
  });
}

ncclResult_t ncclComm::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

ncclResult_t ncclComm::check_ready() {
  if (finalized_) return standin::complain(ncclInvalidUsage, "the communicator was finalized");
  const ncclResult_t now = state();
  if (now != ncclInProgress) return now;
  return standin::complain(ncclInvalidArgument, "a call before the previous one was done in the background");
}

ncclResult_t ncclComm::begin(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    state_ = ncclInProgress;
  }
  launcher_.post([this, task = std::move(task)] {
    task();
    const std::lock_guard lock(mutex_);
    if (state_ == ncclInProgress && !stop_) state_ = ncclSuccess;
  });
  if (!blocking_) return ncclInProgress;
  settle();
  return state();
}

ncclResult_t ncclComm::launch(std::vector<Operation> operations) {
  const std::uint64_t first = calls_;
  calls_ += operations.size();
  return begin([this, first, operations = std::move(operations)] {
    std::this_thread::sleep_for(kLaunchTakes);
    for (std::size_t i = 0; i < operations.size(); ++i) put_on_stream(operations[i], first + i);
  });
}

void ncclComm::put_on_stream(const Operation& operation, std::uint64_t sequence) {
  auto launch = std::make_unique<Launch>(Launch{shared_from_this(), operation, sequence, &ncclComm::execute});
  const auto run = [](void* data) {
    const std::unique_ptr<Launch> mine(static_cast<Launch*>(data));
    (mine->communicator.get()->*mine->execute)(mine->operation, mine->sequence);
  };
  if (cudaLaunchHostFunc(operation.stream, run, launch.get()) == cudaSuccess)
    launch.release();
  else
    report({ncclUnhandledCudaError, "the stream is none of this device"});
}

void ncclComm::execute(const Operation& operation, std::uint64_t sequence) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_ || turn_ == sequence; });
  if (stop_) return;
  running_ = true;
  lock.unlock();
  const std::uint64_t number = operation.kind == standin::Kind::group ? 0 : shared_++;
  const auto trouble = carry_out(operation, number, hello_.rank, hello_.size, mesh_);
  if (trouble) report(*trouble);
  lock.lock();
  changed_.wait(lock, [&] { return stop_ || !trouble; });
  running_ = false;
  ++turn_;
  changed_.notify_all();
}

void ncclComm::report(const Trouble& trouble) {
  const std::lock_guard lock(mutex_);
  if (!stop_) state_ = standin::complain(trouble.result, trouble.text);
}

ncclResult_t ncclComm::finalize() {
  finalized_ = true;
  return begin([this, sequence = calls_++] { execute(Operation{}, sequence); });
}

void ncclComm::abort() {
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !running_; });
  lock.unlock();
  settle();
}

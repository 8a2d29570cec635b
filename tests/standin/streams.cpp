#include "streams.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "devices.h"
#include "standin_time.h"
#include "task_queue.h"

namespace {

// How often an event was recorded, and up to which record its streams have come.
struct Moment {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0, reached = 0;   // guarded by mutex
  std::map<std::uint64_t, long long> times;  // of the streams when they came there

  std::uint64_t record() {
    const std::lock_guard lock(mutex);
    return ++recorded;
  }
  void reach(std::uint64_t record) {
    const std::lock_guard lock(mutex);
    reached = std::max(reached, record);
    times[record] = *standinRunningTime();
    changed.notify_all();
  }
  void wait_for(std::uint64_t record) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reached >= record; });
    if (const auto at = times.find(record); at != times.end())
      *standinRunningTime() = std::max(*standinRunningTime(), at->second);
  }
};

thread_local long long own_time = 0;
thread_local long long* running_time = &own_time;

}  // namespace

struct CUstream_st {
  explicit CUstream_st(int owner) : device(owner) {}
  const int device;
  long long time = 0;  // of the thread of the queue
  standin::TaskQueue queue;
};

struct CUevent_st {
  CUevent_st(int owner, bool with_time) : device(owner), timed(with_time) {}
  const int device;
  const bool timed;
  Moment moment;
};

namespace standin {
namespace {

using Stream = std::shared_ptr<CUstream_st>;
using Event = std::shared_ptr<CUevent_st>;

// Every handle that is alive. A stream destroyed while busy finishes its work among the retired.
class Handles {
 public:
  Stream add_stream(int device) {
    const std::lock_guard lock(mutex_);
    auto stream = std::make_shared<CUstream_st>(device);
    return streams_[stream.get()] = stream;
  }

  // Null is the current device's default stream, made when first used.
  Stream find_stream(cudaStream_t handle) {
    const std::lock_guard lock(mutex_);
    if (handle == nullptr) {
      auto& stream = defaults_[current_device()];
      if (!stream) stream = std::make_shared<CUstream_st>(current_device());
      return stream;
    }
    const auto found = streams_.find(handle);
    return found == streams_.end() ? nullptr : found->second;
  }

  bool remove_stream(cudaStream_t handle) {
    std::vector<Stream> ended;  // their threads end after the lock is gone
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(handle);
    if (found == streams_.end()) return false;
    retired_.push_back(std::move(found->second));
    streams_.erase(found);
    std::erase_if(retired_, [&](const Stream& stream) {
      const bool idle = stream->queue.idle();
      if (idle) ended.push_back(stream);
      return idle;
    });
    return true;
  }

  Event add_event(int device, bool timed) {
    const std::lock_guard lock(mutex_);
    auto event = std::make_shared<CUevent_st>(device, timed);
    return events_[event.get()] = event;
  }

  Event find_event(cudaEvent_t handle) {
    const std::lock_guard lock(mutex_);
    const auto found = events_.find(handle);
    return found == events_.end() ? nullptr : found->second;
  }

  bool remove_event(cudaEvent_t handle) {
    const std::lock_guard lock(mutex_);
    return events_.erase(handle) == 1;
  }

  std::vector<Stream> streams_of(int device) {
    const std::lock_guard lock(mutex_);
    std::vector<Stream> all = retired_;
    for (const auto& [handle, stream] : streams_) all.push_back(stream);
    for (const auto& [owner, stream] : defaults_) all.push_back(stream);
    std::erase_if(all, [&](const Stream& stream) { return stream->device != device; });
    return all;
  }

  void forget_streams_of(int device) {
    const auto ended = streams_of(device);
    const std::lock_guard lock(mutex_);
    const auto is_of_device = [&](const Stream& stream) { return stream->device == device; };
    std::erase_if(retired_, is_of_device);
    std::erase_if(streams_, [&](const auto& entry) { return is_of_device(entry.second); });
    defaults_.erase(device);
  }

 private:
  std::mutex mutex_;  // guards all below
  std::map<cudaStream_t, Stream> streams_;
  std::map<int, Stream> defaults_;
  std::vector<Stream> retired_;
  std::map<cudaEvent_t, Event> events_;
};

Handles& handles() {
  static Handles all;
  return all;
}

cudaError_t post(cudaStream_t handle, std::function<void()> task) {
  const Stream stream = handles().find_stream(handle);
  if (!stream) return fail(cudaErrorInvalidResourceHandle);
  // The queue's thread ends before the stream does: the address holds.
  stream->queue.post([time = &stream->time, task = std::move(task)] {
    running_time = time;
    task();
  });
  return cudaSuccess;
}

}  // namespace

void wait_for_device(int device) {
  for (const auto& stream : handles().streams_of(device)) stream->queue.wait_until_idle();
}

int device_of(cudaStream_t handle) {
  const Stream stream = handles().find_stream(handle);
  return stream ? stream->device : -1;
}

}  // namespace standin

using namespace standin;

cudaError_t cudaDeviceSynchronize() {
  wait_for_device(current_device());
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  wait_for_device(current_device());
  handles().forget_streams_of(current_device());
  leave_current_device();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int) {
  if (!use_current_device()) return fail(cudaErrorNoDevice);
  *pStream = handles().add_stream(current_device()).get();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return handles().remove_stream(stream) ? cudaSuccess : fail(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const Stream stream = handles().find_stream(handle);
  if (!stream) return fail(cudaErrorInvalidResourceHandle);
  stream->queue.wait_until_idle();
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return post(stream, [=] { fn(userData); });
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, std::size_t count, enum cudaMemcpyKind,
                            cudaStream_t stream) {
  return post(stream, [=] {
    if (count != 0) std::memmove(reach(dst), reach(src), count);
  });
}

cudaError_t cudaMemcpy(void* dst, const void* src, std::size_t count, enum cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(dst, src, count, kind, nullptr);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, std::size_t count, cudaStream_t stream) {
  return post(stream, [=] { std::memset(reach(devPtr), value, count); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (!use_current_device()) return fail(cudaErrorNoDevice);
  *event = handles().add_event(current_device(), (flags & cudaEventDisableTiming) == 0).get();
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  const Event event = handles().find_event(handle);
  if (!event || event->device != device_of(stream)) return fail(cudaErrorInvalidResourceHandle);
  const std::uint64_t record = event->moment.record();
  return post(stream, [=] { event->moment.reach(record); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned int) {
  const Event event = handles().find_event(handle);
  if (!event) return fail(cudaErrorInvalidResourceHandle);
  std::unique_lock lock(event->moment.mutex);
  const std::uint64_t record = event->moment.recorded;
  lock.unlock();
  return post(stream, [=] { event->moment.wait_for(record); });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const Event event = handles().find_event(handle);
  if (!event) return fail(cudaErrorInvalidResourceHandle);
  const std::lock_guard lock(event->moment.mutex);
  return event->moment.reached >= event->moment.recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  const Event from = handles().find_event(start), to = handles().find_event(end);
  if (!from || !to || !from->timed || !to->timed || from->device != to->device)
    return fail(cudaErrorInvalidResourceHandle);
  const std::scoped_lock lock(from->moment.mutex, to->moment.mutex);
  for (const Event& event : {from, to}) {
    if (event->moment.recorded == 0) return fail(cudaErrorInvalidResourceHandle);
    if (event->moment.reached < event->moment.recorded) return cudaErrorNotReady;
  }
  *ms = static_cast<float>(
      static_cast<double>(to->moment.times.rbegin()->second - from->moment.times.rbegin()->second) * 1e-6);
  return cudaSuccess;
}

cudaError_t standinSpend(cudaStream_t stream, long long nanoseconds) {
  return post(stream, [=] { *standinRunningTime() += nanoseconds; });
}

long long* standinRunningTime() { return running_time; }

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return handles().remove_event(handle) ? cudaSuccess : fail(cudaErrorInvalidResourceHandle);
}

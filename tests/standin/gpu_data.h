// For tests: elements on a GPU of the stand-in, and a stream that stands still until it is told to go on.
// Both belong to the GPU they were made for and are used by one thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/error.h"
#include "cuda_runtime_api.h"

namespace gradwire {

inline void require(cudaError_t result) {
  if (result != cudaSuccess) throw Error(cudaGetErrorString(result));
}

template <typename T>
class GpuData {
 public:
  GpuData(int device, const std::vector<T>& values) : device_(device), count_(values.size()) {
    require(cudaSetDevice(device_));
    void* pointer = nullptr;
    require(cudaMalloc(&pointer, values.size() * sizeof(T)));
    memory_.reset(static_cast<std::byte*>(pointer), [](std::byte* memory) { cudaFree(memory); });
    require(cudaMemcpy(pointer, values.data(), bytes().size(), cudaMemcpyHostToDevice));
  }

  std::span<std::byte> bytes() const { return {memory_.get(), count_ * sizeof(T)}; }
  std::span<std::byte> part(std::size_t first, std::size_t count) const {
    return bytes().subspan(first * sizeof(T), count * sizeof(T));
  }
  std::vector<T> read() const {
    require(cudaSetDevice(device_));
    std::vector<T> values(count_);
    require(cudaMemcpy(values.data(), memory_.get(), bytes().size(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  int device_;
  std::size_t count_;
  std::shared_ptr<std::byte> memory_;
};

// Work given to the stream waits for open().
class GatedStream {
 public:
  explicit GatedStream(int device) {
    require(cudaSetDevice(device));
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaLaunchHostFunc(
        stream_, [](void* gate) { static_cast<Gate*>(gate)->wait(); }, &gate_));
  }
  ~GatedStream() {
    open();
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  GatedStream(const GatedStream&) = delete;
  GatedStream& operator=(const GatedStream&) = delete;

  void open() { gate_.open(); }
  cudaStream_t get() const { return stream_; }

 private:
  // Shut until it is opened. No latch: where the last look of its wait is in the C++ library, the thread sanitizer does not see it.
  class Gate {
   public:
    void wait() {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return open_; });
    }
    void open() {
      const std::lock_guard lock(mutex_);
      open_ = true;
      changed_.notify_all();
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;  // guarded by mutex_
  };

  Gate gate_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace gradwire

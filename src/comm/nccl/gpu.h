// Owners of what the CUDA runtime hands out, and the questions asked of it. Included only where there is
// CUDA. Events and streams belong to the GPU that is current when they are made; any thread may use them.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "comm/memory.h"

namespace gradwire {

// Throws TransportError: "cudaEventRecord: invalid resource handle (CUDA error 400)".
void check_cuda(cudaError_t result, const char* function);

// Makes a GPU the calling thread's current one, and the former again in the end; but never one that this
// process does not use: CUDA would take hundreds of megabytes of it, and with a rank for each GPU all would
// sit on GPU 0, every thread's first.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int former_ = 0;
};

// A point in a stream's work.
class CudaEvent {
 public:
  enum class Timing : bool { off, on };  // with time it costs the stream a little more
  CudaEvent() : CudaEvent(Timing::off) {}
  explicit CudaEvent(Timing timing);
  CudaEvent(CudaEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&&) = delete;
  ~CudaEvent();
  void record(cudaStream_t stream);
  bool try_record(cudaStream_t stream);  // false when it is no stream of the event's GPU
  bool reached() const;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// A stream that nothing but events orders against others.
class CudaStream {
 public:
  CudaStream();
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// Why this process can't use the GPU, and what to write instead; nothing when it can.
std::optional<std::string> find_device_problem(int device);

// Why NCCL on `device` can't move this memory, and what to write instead; nothing when it can.
std::optional<std::string> find_memory_problem(std::span<const std::byte> memory, int device);

std::string pci_address(int device);

// Zeroed memory of the GPU, by NCCL's allocator where the NCCL at hand has one.
Memory allocate_on(int device, std::size_t bytes, Deadline deadline);

}  // namespace gradwire

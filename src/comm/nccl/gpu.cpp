#include "comm/nccl/gpu.h"

#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>

#include "base/error.h"
#include "net/backoff.h"

// In NCCL since 2.19; null when an older one is found at run time.
extern "C" {
__attribute__((weak)) ncclResult_t ncclMemAlloc(void** ptr, std::size_t size);
__attribute__((weak)) ncclResult_t ncclMemFree(void* ptr);
}

namespace gradwire {
namespace {

// Returns the memory to whoever gave it, on the GPU it belongs to.
struct Release {
  int device;
  bool by_nccl;
  void operator()(void* pointer) const noexcept {
    const OnDevice current(device);
    if (by_nccl)
      ncclMemFree(pointer);
    else
      cudaFree(pointer);
  }
};

std::shared_ptr<void> allocate_raw(int device, std::size_t bytes) {
  void* pointer = nullptr;
  if (ncclMemAlloc != nullptr && ncclMemFree != nullptr && ncclMemAlloc(&pointer, bytes) == ncclSuccess)
    return {pointer, Release{device, true}};
  const cudaError_t result = cudaMalloc(&pointer, bytes);
  if (result != cudaSuccess)
    throw Error(fmt::format("{} of memory on GPU {}: {} (CUDA error {})", format_bytes(bytes), device,
                            cudaGetErrorString(result), static_cast<int>(result)));
  return {pointer, Release{device, false}};
}

// On a stream of its own: the communicator's may be waiting for peers.
void zero(void* pointer, std::size_t bytes, Deadline deadline) {
  CudaStream stream;
  CudaEvent done;
  check_cuda(cudaMemsetAsync(pointer, 0, bytes, stream.get()), "cudaMemsetAsync");
  done.record(stream.get());
  Backoff(1).wait([&] { return done.reached(); },
                  [&] {
                    if (deadline.passed())
                      throw Timeout(fmt::format("a GPU did not clear {} in time", format_bytes(bytes)));
                  });
}

// Asks the driver, which the runtime has loaded; the runtime itself has no such question.
bool is_in_use(int device) {
  using GetState = int (*)(int device, unsigned int* flags, int* active);
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return true;
  const auto get_state = reinterpret_cast<GetState>(dlsym(driver, "cuDevicePrimaryCtxGetState"));
  unsigned int flags = 0;
  int active = 1;
  if (get_state != nullptr) get_state(device, &flags, &active);
  dlclose(driver);
  return active != 0;
}

std::string visible_devices() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : fmt::format(" (CUDA_VISIBLE_DEVICES={})", visible);
}

}  // namespace

void check_cuda(cudaError_t result, const char* function) {
  if (result != cudaSuccess)
    throw TransportError(fmt::format("{}: {} (CUDA error {})", function, cudaGetErrorString(result),
                                     static_cast<int>(result)));
}

OnDevice::OnDevice(int device) {
  cudaGetDevice(&former_);
  if (former_ != device) cudaSetDevice(device);
}
OnDevice::~OnDevice() {
  int now = former_;
  cudaGetDevice(&now);
  if (now != former_ && is_in_use(former_)) cudaSetDevice(former_);
}

CudaEvent::CudaEvent(Timing timing) {
  const unsigned flags = timing == Timing::on ? 0 : cudaEventDisableTiming;
  check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
}
CudaEvent::~CudaEvent() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}
void CudaEvent::record(cudaStream_t stream) {
  check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord");
}
bool CudaEvent::try_record(cudaStream_t stream) {
  const cudaError_t result = cudaEventRecord(event_, stream);
  if (result == cudaErrorInvalidResourceHandle) {
    cudaGetLastError();  // told by the answer: later calls of this thread must not find it
    return false;
  }
  check_cuda(result, "cudaEventRecord");
  return true;
}
bool CudaEvent::reached() const {
  const cudaError_t result = cudaEventQuery(event_);
  if (result == cudaErrorNotReady) return false;
  check_cuda(result, "cudaEventQuery");
  return true;
}

CudaStream::CudaStream() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}
CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }

std::optional<std::string> find_device_problem(int device) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess || count == 0) {
    cudaGetLastError();  // asked and answered: later calls of this thread must not find it
    return fmt::format(
        "no GPU is here: cudaGetDeviceCount says '{}' (CUDA error {}){}. The nccl backend needs an NVIDIA "
        "GPU "
        "and its driver; without one write --backend shm, tcp, gloo or mpi",
        cudaGetErrorString(result), static_cast<int>(result), visible_devices());
  }
  if (device >= 0 && device < count) return std::nullopt;
  return fmt::format(
      "GPU {} is asked for, but this process sees {}: 0..{}{}. Start one rank for each GPU (`gradwire run -n "
      "{}`), "
      "or write make_nccl(world, {{.device = 0}}) where each rank sees a GPU of its own",
      device, count, count - 1, visible_devices(), count);
}

std::optional<std::string> find_memory_problem(std::span<const std::byte> memory, int device) {
  if (memory.empty()) return std::nullopt;
  cudaPointerAttributes where{};
  check_cuda(cudaPointerGetAttributes(&where, memory.data()), "cudaPointerGetAttributes");
  if (where.type == cudaMemoryTypeUnregistered)
    return fmt::format(
        "host memory (at {}), where NCCL needs memory of GPU {}: write communicator.allocate({}), or move "
        "the "
        "tensor there with .to(torch::Device(torch::kCUDA, {}))",
        static_cast<const void*>(memory.data()), device, memory.size(), device);
  if (where.type == cudaMemoryTypeDevice && where.device != device)
    return fmt::format(
        "memory of GPU {}, but this communicator is on GPU {}: move the tensor with "
        ".to(torch::Device(torch::kCUDA, {})), or make the communicator with make_nccl(world, {{.device = "
        "{}}})",
        where.device, device, device, where.device);
  return std::nullopt;
}

std::string pci_address(int device) {
  char text[32] = {};
  check_cuda(cudaDeviceGetPCIBusId(text, sizeof text, device), "cudaDeviceGetPCIBusId");
  return text;
}

Memory allocate_on(int device, std::size_t bytes, Deadline deadline) {
  if (bytes == 0) return {};
  const OnDevice current(device);
  auto owner = allocate_raw(device, bytes);
  zero(owner.get(), bytes, deadline);
  return {{static_cast<std::byte*>(owner.get()), bytes}, owner};
}

}  // namespace gradwire

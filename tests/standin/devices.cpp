#include "devices.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "base/fd.h"
#include "cuda.h"
#include "streams.h"

namespace standin {
namespace {

struct Block {
  int device;
  std::byte* view;
  std::size_t bytes;
};

// Every allocation, by the address given out.
struct Memory {
  std::mutex mutex;
  std::map<std::uintptr_t, Block> blocks;  // guarded by mutex
};

Memory& memory() {
  static Memory all;
  return all;
}

// Which devices the process has used so far: a bit each.
std::atomic<std::uint64_t>& used_devices() {
  static std::atomic<std::uint64_t> used = 0;
  return used;
}

thread_local int t_device = 0;
thread_local cudaError_t t_error = cudaSuccess;

void* map_view(int file, std::size_t bytes, int protection) {
  void* const address = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  return address == MAP_FAILED ? nullptr : address;
}

}  // namespace

cudaError_t fail(cudaError_t error) { return t_error = error; }

int device_count() {
  const char* const text = std::getenv("GRADWIRE_STANDIN_DEVICES");
  return text == nullptr ? 0 : std::atoi(text);
}

int current_device() { return t_device; }

bool use_current_device() {
  if (t_device >= device_count()) return false;
  used_devices() |= std::uint64_t{1} << t_device;
  return true;
}

void leave_current_device() { used_devices() &= ~(std::uint64_t{1} << t_device); }

std::optional<Place> find_place(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::lock_guard lock(memory().mutex);
  auto block = memory().blocks.upper_bound(address);
  if (block == memory().blocks.begin()) return std::nullopt;
  --block;
  const std::size_t offset = address - block->first;
  if (offset >= block->second.bytes) return std::nullopt;
  return Place{block->second.device, block->second.view + offset, block->second.bytes - offset};
}

std::byte* reach(const void* pointer) {
  const auto place = find_place(pointer);
  return place ? place->view : static_cast<std::byte*>(const_cast<void*>(pointer));
}

}  // namespace standin

using namespace standin;

cudaError_t cudaGetLastError() { return std::exchange(t_error, cudaSuccess); }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (device_count() == 0) return fail(cudaErrorNoDevice);
  *count = device_count();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= device_count()) return fail(cudaErrorInvalidDevice);
  t_device = device;
  use_current_device();
  return cudaSuccess;
}

int cuDevicePrimaryCtxGetState(int dev, unsigned int* flags, int* active) {
  *flags = 0;
  *active = (used_devices() >> dev & 1) != 0 ? 1 : 0;
  return 0;
}

cudaError_t cudaGetDevice(int* device) {
  *device = t_device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  if (device < 0 || device >= device_count()) return fail(cudaErrorInvalidDevice);
  std::snprintf(pciBusId, static_cast<std::size_t>(len), "0000:%02X:00.0", 0x10 + device);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** devPtr, std::size_t size) {
  *devPtr = nullptr;
  if (!use_current_device()) return fail(cudaErrorNoDevice);
  if (size == 0) return cudaSuccess;
  const gradwire::Fd file(memfd_create("standin-device-memory", MFD_CLOEXEC));
  if (!file || ftruncate(file.get(), static_cast<off_t>(size)) != 0) return fail(cudaErrorMemoryAllocation);
  void* const given_out = map_view(file.get(), size, PROT_NONE);
  void* const view = map_view(file.get(), size, PROT_READ | PROT_WRITE);
  if (given_out == nullptr || view == nullptr) return fail(cudaErrorMemoryAllocation);
  const std::lock_guard lock(memory().mutex);
  memory().blocks[reinterpret_cast<std::uintptr_t>(given_out)] = {t_device, static_cast<std::byte*>(view),
                                                                  size};
  *devPtr = given_out;
  return cudaSuccess;
}

// Like CUDA's it waits for the device, so that no running work loses its memory.
cudaError_t cudaFree(void* devPtr) {
  if (devPtr == nullptr) return cudaSuccess;
  if (const auto place = find_place(devPtr)) wait_for_device(place->device);
  const std::lock_guard lock(memory().mutex);
  const auto block = memory().blocks.find(reinterpret_cast<std::uintptr_t>(devPtr));
  if (block == memory().blocks.end()) return fail(cudaErrorInvalidValue);
  munmap(devPtr, block->second.bytes);
  munmap(block->second.view, block->second.bytes);
  memory().blocks.erase(block);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* ptr) {
  void* const pointer = const_cast<void*>(ptr);
  const auto place = find_place(ptr);
  *attributes = place ? cudaPointerAttributes{cudaMemoryTypeDevice, place->device, pointer, nullptr}
                      : cudaPointerAttributes{cudaMemoryTypeUnregistered, -1, nullptr, pointer};
  return cudaSuccess;
}

// The stand-in's GPUs: as many as the environment variable GRADWIRE_STANDIN_DEVICES says, none without it.
//
// Device memory is mapped twice. The address cudaMalloc gives out can't be read or written by the program,
// which crashes on it as it would on a GPU's; the stand-in itself works through the second view. An address
// remembers its device. Any thread may call; what is here lives as long as the process, as CUDA's own state
// does.
#pragma once

#include <cstddef>
#include <optional>

#include "cuda_runtime_api.h"

namespace standin {

// What cudaGetLastError will say on this thread; returns it.
cudaError_t fail(cudaError_t error);

int device_count();
int current_device();
bool use_current_device();  // from now on the process uses it; false where there is none
void leave_current_device();

struct Place {
  int device;
  std::byte* view;         // the same byte, where the stand-in can reach it
  std::size_t bytes_left;  // of its allocation
};
std::optional<Place> find_place(const void* pointer);

// The view of device memory, the pointer itself for any other.
std::byte* reach(const void* pointer);

}  // namespace standin

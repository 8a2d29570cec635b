// Tensors as a communicator sees them: a span of bytes and an element type.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <torch/torch.h>

#include "comm/communicator.h"

namespace gradwire {

// The element types that can be added up. Throws ConfigError naming `what` for others (complex, bool, ...).
DType dtype_of(torch::ScalarType type, const std::string& what);

bool is_dense(const torch::Tensor& tensor);  // its elements fill its memory, in whatever order

// The memory of a dense tensor. Also of one that CUDA owns: for communicators, not for the host.
std::span<std::byte> memory_of(const torch::Tensor& tensor);

// What a tensor takes in a block of several: each begins on a cache line, what lies between stays zero on every rank.
std::size_t padded_bytes(const torch::Tensor& tensor);

// A tensor in a communicator's memory, which it keeps. `bytes` is a part of `memory`.
torch::Tensor tensor_in(std::shared_ptr<Memory> memory, std::span<std::byte> bytes,
                        const torch::Tensor& like);
torch::Tensor flat_tensor_in(std::shared_ptr<Memory> memory, std::span<std::byte> bytes,
                             const torch::TensorOptions& options);

// Memory of the communicator's for `count` elements, as a flat tensor.
torch::Tensor allocate_tensor(Communicator& communicator, std::int64_t count,
                              const torch::TensorOptions& options);

// Blocks; in place.
void all_reduce(Communicator& communicator, torch::Tensor& tensor, Reduction reduction);

}  // namespace gradwire

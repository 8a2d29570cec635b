#include "train/tensor_bytes.h"

#include <algorithm>

#include "base/error.h"

namespace gradwire {

DType dtype_of(torch::ScalarType type, const std::string& what) {
  switch (type) {
    case torch::kFloat32:
      return DType::f32;
    case torch::kFloat64:
      return DType::f64;
    case torch::kFloat16:
      return DType::f16;
    case torch::kBFloat16:
      return DType::bf16;
    case torch::kInt8:
      return DType::i8;
    case torch::kUInt8:
      return DType::u8;
    case torch::kInt32:
      return DType::i32;
    case torch::kInt64:
      return DType::i64;
    default:
      throw ConfigError(
          fmt::format("{} has elements of type {}, which no communicator can add up: use float32, float64, "
                      "float16 or bfloat16",
                      what, c10::toString(type)));
  }
}

bool is_dense(const torch::Tensor& tensor) {
  return tensor.layout() == torch::kStrided && tensor.is_non_overlapping_and_dense();
}

std::span<std::byte> memory_of(const torch::Tensor& tensor) {
  check(is_dense(tensor), "memory_of takes dense tensors");
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.nbytes())};
}

std::size_t padded_bytes(const torch::Tensor& tensor) {
  constexpr std::size_t kCacheLine = 64;
  return round_up(tensor.nbytes(), kCacheLine);
}

torch::Tensor tensor_in(std::shared_ptr<Memory> memory, std::span<std::byte> bytes,
                        const torch::Tensor& like) {
  const auto strides = is_dense(like) ? like.strides().vec() : like.contiguous().strides().vec();
  return torch::from_blob(
      bytes.data(), like.sizes(), strides, [memory](void*) {},
      torch::TensorOptions().dtype(like.dtype()).device(like.device()));
}

torch::Tensor flat_tensor_in(std::shared_ptr<Memory> memory, std::span<std::byte> bytes,
                             const torch::TensorOptions& options) {
  const auto element = torch::elementSize(torch::typeMetaToScalarType(options.dtype()));
  return torch::from_blob(
      bytes.data(), {static_cast<std::int64_t>(bytes.size() / element)}, [memory](void*) {}, options);
}

torch::Tensor allocate_tensor(Communicator& communicator, std::int64_t count,
                              const torch::TensorOptions& options) {
  const auto element = torch::elementSize(torch::typeMetaToScalarType(options.dtype()));
  const auto bytes = static_cast<std::size_t>(count) * element;
  auto memory = std::make_shared<Memory>(communicator.allocate(std::max<std::size_t>(bytes, 1)));
  return flat_tensor_in(memory, memory->bytes().first(bytes), options);
}

void all_reduce(Communicator& communicator, torch::Tensor& tensor, Reduction reduction) {
  communicator.run(
      all_reduce(memory_of(tensor), dtype_of(tensor.scalar_type(), "a tensor to reduce"), reduction));
}

}  // namespace gradwire

#include "train/loop/stored_tensor.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/error.h"

namespace gradwire {
namespace {

struct TypeName {
  torch::ScalarType type;
  const char* name;
};
constexpr std::array<TypeName, 10> kTypes = {{{torch::kFloat64, "F64"},
                                              {torch::kFloat32, "F32"},
                                              {torch::kFloat16, "F16"},
                                              {torch::kBFloat16, "BF16"},
                                              {torch::kInt64, "I64"},
                                              {torch::kInt32, "I32"},
                                              {torch::kInt16, "I16"},
                                              {torch::kInt8, "I8"},
                                              {torch::kUInt8, "U8"},
                                              {torch::kBool, "BOOL"}}};

std::string type_name(torch::ScalarType type) {
  for (const auto& known : kTypes)
    if (known.type == type) return known.name;
  throw ConfigError(fmt::format("tensors of type {} can't be saved", torch::toString(type)));
}

torch::ScalarType type_of(const std::string& name) {
  for (const auto& known : kTypes)
    if (name == known.name) return known.type;
  throw ConfigError(fmt::format("tensors of type {} can't be restored", name));
}

TensorDraft draft_of(const std::vector<NamedTensor>& tensors, const Notes& notes) {
  std::vector<StoredTensor> stored;
  for (const auto& [name, tensor] : tensors)
    stored.push_back({name,
                      type_name(tensor.scalar_type()),
                      tensor.sizes().vec(),
                      {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
  return TensorDraft(stored, notes);
}

}  // namespace

std::string write_tensors(FileDraft& file, const std::vector<NamedTensor>& tensors, const Notes& notes) {
  const auto draft = draft_of(tensors, notes);
  draft.write_to(file);
  file.commit();
  return draft.checksum();
}

torch::Tensor tensor_of(const StoredTensor& stored) {
  auto tensor = torch::empty(stored.shape, torch::TensorOptions().dtype(type_of(stored.dtype)));
  if (!stored.bytes.empty()) std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

}  // namespace gradwire

#include "train/sharded/unit_storage.h"

#include <algorithm>
#include <vector>

#include <torch/library.h>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr auto kUnitKey = c10::DispatchKey::DeferredInit;

// The units among an operator's arguments, by owner; an operator seldom has those of more than one. And whose shares it writes.
struct UnitsInUse {
  std::vector<std::pair<std::shared_ptr<UnitOwner>, std::vector<int>>> owners;
  std::shared_ptr<UnitOwner> written;

  void add(const at::Tensor& tensor, bool writes) {
    if (!tensor.defined() || !tensor.key_set().has(kUnitKey)) return;
    auto* const storage = dynamic_cast<UnitStorage*>(tensor.storage().unsafeGetStorageImpl());
    if (storage == nullptr || (storage->identity().is_share && !writes)) return;
    auto owner = storage->identity().owner.lock();
    if (storage->identity().is_share) {
      if (owner) written = std::move(owner);
      return;
    }
    if (owner) return add(std::move(owner), storage->identity().unit);
    if (!storage->complete())
      throw ConfigError(fmt::format(
          "the parameters of unit {} were used after their ShardedDataParallel was destroyed, which "
          "left this rank a part of them: take full_parameters() before",
          storage->identity().name));
  }

  void add(std::shared_ptr<UnitOwner> owner, int unit) {
    for (auto& [known, units] : owners) {
      if (known != owner) continue;
      if (std::find(units.begin(), units.end(), unit) == units.end()) units.push_back(unit);
      return;
    }
    owners.emplace_back(std::move(owner), std::vector<int>{unit});
  }
};

void add_units(UnitsInUse& found, const c10::IValue& value, bool writes) {
  if (value.isTensor()) return found.add(value.toTensor(), writes);
  if (value.isTensorList())
    for (const at::Tensor& tensor : value.toTensorVector()) found.add(tensor, writes);
  else if (value.isList())  // of tensors that may be absent
    for (const c10::IValue& part : value.toListRef()) add_units(found, part, writes);
}

void use_units_then_call(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  UnitsInUse found;
  const auto& arguments = op.schema().arguments();
  const std::size_t first = stack->size() - arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* const alias = arguments[i].alias_info();
    add_units(found, (*stack)[first + i], alias != nullptr && alias->isWrite());
  }
  if (found.written) found.written->change();
  for (const auto& [owner, units] : found.owners) owner->use(units);
  const c10::impl::ExcludeDispatchKeyGuard below(kUnitKey);
  op.callBoxed(stack);
}

// libtorch's table of operators is the process's, so this stays once it is there.
void register_key() {
  static torch::Library* const library = [] {
    auto* made = new torch::Library(torch::Library::IMPL, "_", kUnitKey, __FILE__, __LINE__);
    made->fallback(torch::CppFunction::makeFromBoxedFunction<&use_units_then_call>());
    return made;
  }();
  check(library != nullptr, "a library of operators");
}

}  // namespace

UnitStorage::UnitStorage(UnitIdentity identity, torch::Device device)
    : c10::StorageImpl(c10::StorageImpl::use_byte_size_t(), 0, at::DataPtr(nullptr, device), nullptr, false),
      identity_(std::move(identity)) {}

void UnitStorage::hold(std::shared_ptr<Memory> memory, std::span<std::byte> bytes, bool complete) {
  set_data_ptr_noswap(at::DataPtr(bytes.data(), device()));
  set_nbytes(bytes.size());
  memory_ = std::move(memory);
  complete_ = complete;
}

void UnitStorage::release() {
  set_data_ptr_noswap(at::DataPtr(nullptr, device()));
  set_nbytes(std::size_t{0});
  memory_.reset();
  complete_ = false;
}

void place_parameter(const torch::Tensor& parameter, const UnitStoragePointer& storage, std::int64_t offset,
                     torch::ScalarType type) {
  register_key();
  auto placed = c10::make_intrusive<c10::TensorImpl>(c10::Storage(storage), parameter.key_set().add(kUnitKey),
                                                     c10::scalarTypeToTypeMeta(type));
  const auto sizes = parameter.sizes().vec();
  placed->set_sizes_contiguous(sizes);
  placed->set_storage_offset(offset);
  parameter.unsafeGetTensorImpl()->shallow_copy_from(placed);
}

}  // namespace gradwire

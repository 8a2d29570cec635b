// How parameters become sharded units: chosen, laid out, given memory, filled, and put in the parameters' place.
#include <algorithm>
#include <utility>

#include "comm/shm/common.h"
#include "train/inline_communicator.h"
#include "train/sharded/sharded_units.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

constexpr std::size_t kShareLine = 64;  // bytes: parts of a block begin on a cache line

std::int64_t line_elements(torch::ScalarType a, torch::ScalarType b) {
  const auto least = std::min(torch::elementSize(a), torch::elementSize(b));
  return static_cast<std::int64_t>(kShareLine / least);
}

std::vector<ShardedParameter> described(const std::vector<NamedTensor>& parameters) {
  std::vector<ShardedParameter> result;
  for (const auto& [name, tensor] : parameters)
    result.push_back({name, tensor.numel(), static_cast<int>(tensor.scalar_type()), tensor.requires_grad()});
  return result;
}

}  // namespace

CommunicatorBlock::CommunicatorBlock(Communicator& communicator, std::size_t bytes)
    : CommunicatorBlock(communicator.allocate(std::max<std::size_t>(bytes, 1))) {}

CommunicatorBlock::CommunicatorBlock(Memory memory) : memory_(std::make_shared<Memory>(std::move(memory))) {}

std::size_t CommunicatorBlock::room(std::int64_t elements, torch::ScalarType type) {
  const auto bytes = static_cast<std::size_t>(elements) * torch::elementSize(type);
  return (bytes + kShareLine - 1) / kShareLine * kShareLine;
}

torch::Tensor CommunicatorBlock::take(std::int64_t elements, const torch::TensorOptions& options) {
  const auto type = torch::typeMetaToScalarType(options.dtype());
  const auto bytes = static_cast<std::size_t>(elements) * torch::elementSize(type);
  const auto part = memory_->bytes().subspan(used_, bytes);
  used_ += room(elements, type);
  return flat_tensor_in(memory_, part, options);
}

ShardedUnits::ShardedUnits(Communicator& communicator, const UnitSettings& settings)
    : communicator_(communicator),
      settings_(settings),
      views_(settings.stage == 3 && settings.views && communicator.size() > 1 && settings.device.is_cpu() &&
             can_share_memory(communicator)),
      inline_(communicator.size() > 1 ? nullptr : std::make_unique<InlineCommunicator>(communicator)) {}

std::shared_ptr<ShardedUnits> ShardedUnits::make(const std::vector<NamedTensor>& parameters,
                                                 Communicator& communicator, const UnitSettings& settings) {
  const torch::NoGradGuard no_grad;
  const std::shared_ptr<ShardedUnits> made(new ShardedUnits(communicator, settings));
  made->add_units(parameters);
  made->allocate();
  made->make_walk();
  for (std::size_t i = 0; i < made->units_.size(); ++i) {
    made->fill_share(made->units_[i]);
    made->watch_share(static_cast<int>(i), made);
    made->place(static_cast<int>(i), made);
  }
  return made;
}

torch::TensorOptions ShardedUnits::options_for(torch::ScalarType type) const {
  return torch::TensorOptions().dtype(type).device(settings_.device);
}

void ShardedUnits::add_units(const std::vector<NamedTensor>& parameters) {
  for (const auto& chosen : choose_units(described(parameters), settings_.policy)) {
    Unit unit;
    unit.name = chosen.name;
    unit.trainable = chosen.trainable;
    std::vector<std::int64_t> elements;
    for (const int member : chosen.members) {
      unit.parameters.push_back(parameters[static_cast<std::size_t>(member)]);
      unit.shapes.push_back(unit.parameters.back().tensor.sizes().vec());
      elements.push_back(unit.parameters.back().tensor.numel());
    }
    unit.type = unit.compute_type = unit.parameters.front().tensor.scalar_type();
    dtype_of(unit.type, "parameter " + unit.parameters.front().name);
    if (settings_.compute_type && at::isFloatingType(unit.type)) unit.compute_type = *settings_.compute_type;
    unit.layout = FlatLayout(elements, communicator_.size(), line_elements(unit.type, unit.compute_type));
    units_.push_back(std::move(unit));
  }
}

// A share that is of its unit's type is a part of the whole where wholes are kept, and else has memory of its own.
void ShardedUnits::allocate() {
  std::size_t shares = 0, wholes = 0;
  for (const auto& unit : units_) {
    const auto whole = CommunicatorBlock::room(unit.layout.total(), unit.compute_type);
    slot_bytes_ = std::max(slot_bytes_, whole);
    if (!frees_units()) wholes += whole;
    if (frees_units() || unit.type != unit.compute_type)
      shares += CommunicatorBlock::room(unit.layout.share(), unit.type);
  }
  shares_ = std::make_unique<CommunicatorBlock>(communicator_, shares);
  if (views_)
    wholes_ = std::make_unique<CommunicatorBlock>(allocate_common(communicator_, wholes));
  else if (!frees_units())
    wholes_ = std::make_unique<CommunicatorBlock>(communicator_, wholes);
  for (auto& unit : units_) {
    if (wholes_) unit.whole = wholes_->take(unit.layout.total(), options_for(unit.compute_type));
    const bool inside = wholes_ && unit.type == unit.compute_type;
    unit.share = inside ? flat_tensor_in(wholes_->memory(), memory_of(own_part(unit)), options_for(unit.type))
                        : shares_->take(unit.layout.share(), options_for(unit.type));
  }
}

torch::Tensor ShardedUnits::own_part(const Unit& unit) const {
  return unit.whole.narrow(0, unit.layout.share() * communicator_.rank(), unit.layout.share());
}

void ShardedUnits::make_walk() {
  // Units that stay are stage 2's.
  ShardedModel model{.ranks = communicator_.size(), .stage = views_ ? 2 : settings_.stage};
  for (const auto& unit : units_) {
    model.units.push_back(static_cast<Bytes>(unit.layout.total()) * torch::elementSize(unit.compute_type));
    model.trainable.push_back(unit.trainable);
  }
  const Lock lock(mutex_);
  walk_.emplace(std::move(model));
}

void ShardedUnits::fill_share(Unit& unit) {
  for (const auto& piece : unit.layout.pieces(communicator_.rank())) {
    const auto& parameter = unit.parameters[static_cast<std::size_t>(piece.member)].tensor;
    unit.share.narrow(0, piece.at, piece.end - piece.begin)
        .copy_(parameter.detach().reshape({-1}).narrow(0, piece.begin, piece.end - piece.begin));
  }
  if (unit.trainable) unit.share.set_requires_grad(true);
}

// From now on operators that write it say so before.
void ShardedUnits::watch_share(int index, const std::shared_ptr<ShardedUnits>& self) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  const auto storage =
      c10::make_intrusive<UnitStorage>(UnitIdentity{self, index, unit.name, true}, settings_.device);
  const auto& block = wholes_ && unit.type == unit.compute_type ? wholes_ : shares_;
  storage->hold(block->memory(), memory_of(unit.share), true);
  place_parameter(unit.share, storage, 0, unit.type);
}

void ShardedUnits::place(int index, const std::shared_ptr<ShardedUnits>& self) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  unit.storage = c10::make_intrusive<UnitStorage>(UnitIdentity{self, index, unit.name}, settings_.device);
  if (wholes_) unit.storage->hold(wholes_->memory(), memory_of(unit.whole), false);
  for (std::size_t i = 0; i < unit.parameters.size(); ++i)
    place_parameter(unit.parameters[i].tensor, unit.storage, unit.layout.members()[i].offset,
                    unit.compute_type);
}

}  // namespace gradwire

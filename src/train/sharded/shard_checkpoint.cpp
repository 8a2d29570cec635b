#include "train/sharded/shard_checkpoint.h"

#include "base/error.h"
#include "train/loop/optimizer_state.h"
#include "train/loop/share_result.h"
#include "train/sharded/piece_name.h"
#include "train/tensor/cut_name.h"
#include "train/tensor/parts.h"

namespace gradwire {
namespace {

using WholeTensors = std::map<std::string, torch::Tensor>;

// What the optimizer knows parameters by: their numbers, which no name of a module is.
std::vector<NamedTensor> numbered(const std::vector<torch::Tensor>& parameters) {
  std::vector<NamedTensor> named;
  for (const auto& parameter : parameters) named.push_back({fmt::format("#{}", named.size()), parameter});
  return named;
}

std::string learnt_name(const std::string& parameter, const std::string& what) {
  return fmt::format("optimizer.{}.{}", parameter, what);
}

// "exp_avg" of "optimizer.#3.exp_avg".
std::string what_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// A tensor that lies like the piece, of a tensor of this name. What is all of a part is saved in its shape.
NamedTensor entry_for(const ParameterPiece& piece, const std::string& name, const torch::Tensor& flat) {
  const auto part = cut_name({name, piece.part});
  if (piece.begin == 0 && flat.numel() == find_elements(piece.shape)) return {part, flat.view(piece.shape)};
  return {piece_name({part, piece.shape, piece.begin, piece.begin + flat.numel()}), flat};
}

void add_learnt(std::vector<NamedTensor>& found, const HeldPieces& held, torch::optim::Optimizer& optimizer) {
  WholeTensors by_name;
  for (const auto& [name, tensor] : optimizer_tensors(optimizer, numbered(held.parameters)))
    by_name[name] = tensor;
  for (const auto& piece : held.pieces) {
    const std::string prefix = fmt::format("optimizer.#{}.", piece.unit);
    for (auto place = by_name.lower_bound(prefix); place != by_name.end() && place->first.starts_with(prefix);
         ++place) {
      const auto name = learnt_name(piece.name, what_of(place->first));
      if (what_of(place->first) != "step")
        found.push_back(
            entry_for(piece, name, place->second.reshape({-1}).narrow(0, piece.at, piece.values.numel())));
      else if (piece.begin == 0 && piece.part.index == 0)  // a number: once
        found.push_back({name, place->second});
    }
  }
}

// Throws where a tensor of the checkpoint is not what the piece is of.
void check_fits(const WholeTensors& tensors, const ParameterPiece& piece) {
  const auto found = tensors.find(piece.name);
  if (found == tensors.end())
    throw ConfigError(fmt::format("it has no '{}': it is of another model", piece.name));
  if (!fits_part(found->second.sizes(), piece.part, piece.shape) ||
      found->second.scalar_type() != piece.values.scalar_type())
    throw ConfigError(fmt::format("'{}' has another shape or type in it than in this model", piece.name));
}

// What of a whole tensor lies like the piece, flat.
torch::Tensor piece_of(const torch::Tensor& whole, const ParameterPiece& piece) {
  const auto& [cut, parts, index] = piece.part;
  const auto part = piece.part.whole() ? whole : part_of(whole, cut, parts, index);
  return part.reshape({-1}).narrow(0, piece.begin, piece.values.numel());
}

// What the optimizer has learnt of whole parameters, as it lies in those it was made with.
WholeTensors learnt_pieces(const WholeTensors& tensors, const HeldPieces& held) {
  WholeTensors result;
  for (const auto& piece : held.pieces) {
    if (piece.unit < 0) continue;
    const auto& parameter = held.parameters[static_cast<std::size_t>(piece.unit)];
    const std::string prefix = learnt_name(piece.name, "");
    for (auto place = tensors.lower_bound(prefix); place != tensors.end() && place->first.starts_with(prefix);
         ++place) {
      const auto what = place->first.substr(prefix.size());
      if (what.find('.') != std::string::npos) continue;  // of a parameter whose name begins like this one's
      auto& learnt = result[fmt::format("optimizer.#{}.{}", piece.unit, what)];
      if (place->second.dim() == 0 && what == "step") {
        learnt = place->second;
        continue;
      }
      if (!fits_part(place->second.sizes(), piece.part, piece.shape))
        throw ConfigError(fmt::format("{} does not fit its parameter", place->first));
      if (!learnt.defined()) learnt = torch::zeros(parameter.sizes(), place->second.options());
      learnt.view({-1}).narrow(0, piece.at, piece.values.numel()).copy_(piece_of(place->second, piece));
    }
  }
  return result;
}

void check_buffer(const WholeTensors& tensors, const NamedTensor& buffer) {
  const auto found = tensors.find(buffer.name);
  if (found == tensors.end() || found->second.sizes() != buffer.tensor.sizes())
    throw ConfigError(fmt::format("it has no '{}' of this shape: it is of another model", buffer.name));
}

}  // namespace

HeldPieces held_by(ShardedCore& core) {
  return {.pieces = pieces(core), .parameters = parameters(core), .buffers = buffers(core)};
}

TrainingState state_of_pieces(const HeldPieces& held, torch::optim::Optimizer* optimizer) {
  const torch::NoGradGuard no_grad;
  TrainingState state;
  for (const auto& piece : held.pieces) state.pieces.push_back(entry_for(piece, piece.name, piece.values));
  if (optimizer != nullptr) add_learnt(state.pieces, held, *optimizer);
  state.model.buffers = held.buffers;
  return state;
}

TrainingState sharded_state(ShardedCore& core, torch::optim::Optimizer* optimizer) {
  return state_of_pieces(held_by(core), optimizer);
}

// Ranks hold different pieces: what one finds wrong is an error on all, before any has changed.
TrainingPosition load_checkpoint(const std::filesystem::path& path, const HeldPieces& held,
                                 torch::optim::Optimizer* optimizer, Communicator& communicator,
                                 Unchecked unchecked) {
  const torch::NoGradGuard no_grad;
  const auto take = [&](const WholeTensors& tensors) {
    WholeTensors learnt;
    share_results(communicator, [&] {
      for (const auto& piece : held.pieces) check_fits(tensors, piece);
      for (const auto& buffer : held.buffers) check_buffer(tensors, buffer);
      if (optimizer != nullptr) learnt = learnt_pieces(tensors, held);
      return std::string();
    });
    if (optimizer != nullptr) set_optimizer_tensors(*optimizer, numbered(held.parameters), learnt);
    for (const auto& piece : held.pieces)
      torch::Tensor(piece.values).copy_(piece_of(tensors.at(piece.name), piece));
    for (const auto& [name, buffer] : held.buffers) torch::Tensor(buffer).copy_(tensors.at(name));
  };
  return load_tensors(path, communicator, unchecked, take, held.hook);
}

TrainingPosition load_checkpoint(const std::filesystem::path& path, ShardedCore& core,
                                 torch::optim::Optimizer* optimizer, Communicator& communicator,
                                 Unchecked unchecked) {
  parameters_changed(core);  // by all ranks, also by one that has no piece to write
  const auto position = load_checkpoint(path, held_by(core), optimizer, communicator, unchecked);
  parameters_changed(core);
  return position;
}

}  // namespace gradwire

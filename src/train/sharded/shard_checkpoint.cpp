#include "train/sharded/shard_checkpoint.h"

#include "base/error.h"
#include "train/loop/optimizer_state.h"
#include "train/sharded/piece_name.h"

namespace gradwire {
namespace {

using WholeTensors = std::map<std::string, torch::Tensor>;

// What the optimizer knows shares by: their numbers, which no name of a module is.
std::vector<NamedTensor> numbered_shares(const ShardedCore& core) {
  std::vector<NamedTensor> named;
  for (const auto& share : parameters(core)) named.push_back({fmt::format("#{}", named.size()), share});
  return named;
}

std::string learnt_name(const std::string& parameter, const std::string& what) {
  return fmt::format("optimizer.{}.{}", parameter, what);
}

// "exp_avg" of "optimizer.#3.exp_avg".
std::string what_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

void add_learnt(std::vector<NamedTensor>& found, const ShardedCore& core,
                torch::optim::Optimizer& optimizer) {
  WholeTensors by_name;
  for (const auto& [name, tensor] : optimizer_tensors(optimizer, numbered_shares(core)))
    by_name[name] = tensor;
  for (const auto& piece : pieces(core)) {
    const std::string prefix = fmt::format("optimizer.#{}.", piece.unit);
    const auto count = piece.values.numel();
    for (auto place = by_name.lower_bound(prefix); place != by_name.end() && place->first.starts_with(prefix);
         ++place) {
      const auto name = learnt_name(piece.name, what_of(place->first));
      if (place->second.dim() > 0)
        found.push_back({piece_name({name, piece.shape, piece.begin, piece.begin + count}),
                         place->second.narrow(0, piece.at, count)});
      else if (piece.begin == 0)  // a number of steps: once
        found.push_back({name, place->second});
    }
  }
}

const torch::Tensor& whole_for(const WholeTensors& tensors, const ParameterPiece& piece) {
  const auto found = tensors.find(piece.name);
  if (found == tensors.end())
    throw ConfigError(fmt::format("it has no '{}': it is of another model", piece.name));
  if (found->second.sizes().vec() != piece.shape || found->second.scalar_type() != piece.values.scalar_type())
    throw ConfigError(fmt::format("'{}' has another shape or type in it than in this model", piece.name));
  return found->second;
}

torch::Tensor part_of(const torch::Tensor& whole, const ParameterPiece& piece) {
  return whole.reshape({-1}).narrow(0, piece.begin, piece.values.numel());
}

// The optimizer's tensors of whole parameters as those of this rank's shares.
WholeTensors learnt_shares(const WholeTensors& tensors, const ShardedCore& core) {
  const auto shares = numbered_shares(core);
  WholeTensors result;
  for (const auto& piece : pieces(core)) {
    if (piece.unit < 0) continue;
    const std::string prefix = learnt_name(piece.name, "");
    for (auto place = tensors.lower_bound(prefix); place != tensors.end() && place->first.starts_with(prefix);
         ++place) {
      const auto what = place->first.substr(prefix.size());
      if (what.find('.') != std::string::npos) continue;  // of a parameter whose name begins like this one's
      auto& share = result[fmt::format("optimizer.#{}.{}", piece.unit, what)];
      if (place->second.dim() == 0 && what == "step") {
        share = place->second;
        continue;
      }
      if (place->second.sizes().vec() != piece.shape)
        throw ConfigError(fmt::format("{} does not fit its parameter", place->first));
      const auto& parameter = shares[static_cast<std::size_t>(piece.unit)].tensor;
      if (!share.defined()) share = torch::zeros({parameter.numel()}, place->second.options());
      share.narrow(0, piece.at, piece.values.numel()).copy_(part_of(place->second, piece));
    }
  }
  return result;
}

}  // namespace

TrainingState sharded_state(ShardedCore& core, torch::optim::Optimizer* optimizer) {
  const torch::NoGradGuard no_grad;
  TrainingState state;
  for (const auto& piece : pieces(core))
    state.pieces.push_back(
        {piece_name({piece.name, piece.shape, piece.begin, piece.begin + piece.values.numel()}),
         piece.values});
  if (optimizer != nullptr) add_learnt(state.pieces, core, *optimizer);
  state.model.buffers = buffers(core);
  return state;
}

TrainingPosition load_checkpoint(const std::filesystem::path& path, ShardedCore& core,
                                 torch::optim::Optimizer* optimizer, Communicator& communicator,
                                 Unchecked unchecked) {
  const torch::NoGradGuard no_grad;
  return load_tensors(path, communicator, unchecked, [&](const WholeTensors& tensors) {
    for (const auto& piece : pieces(core)) whole_for(tensors, piece);
    for (const auto& [name, buffer] : buffers(core))
      if (const auto found = tensors.find(name);
          found == tensors.end() || found->second.sizes() != buffer.sizes())
        throw ConfigError(fmt::format("it has no '{}' of this shape: it is of another model", name));
    if (optimizer != nullptr)
      set_optimizer_tensors(*optimizer, numbered_shares(core), learnt_shares(tensors, core));
    for (auto& piece : pieces(core)) piece.values.copy_(part_of(whole_for(tensors, piece), piece));
    for (const auto& [name, buffer] : buffers(core)) torch::Tensor(buffer).copy_(tensors.at(name));
    parameters_changed(core);
  });
}

}  // namespace gradwire

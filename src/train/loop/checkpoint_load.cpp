#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "train/loop/checkpoint.h"
#include "train/loop/checkpoint_files.h"
#include "train/loop/optimizer_state.h"
#include "train/loop/rank_name.h"
#include "train/loop/share_result.h"
#include "train/loop/stored_tensor.h"
#include "train/sharded/piece_name.h"
#include "train/tensor/cut_name.h"
#include "train/tensor/parts.h"

namespace gradwire {
namespace {

using Path = std::filesystem::path;
using Tensors = std::map<std::string, torch::Tensor>;

std::int64_t number_in(const Notes& notes, const char* name, Unchecked unchecked) {
  const auto found = notes.find(name);
  if (found == notes.end() && unchecked == Unchecked::accept) return 0;
  const auto number = found == notes.end() ? std::nullopt : find_integer<std::int64_t>(found->second);
  if (!number || *number < 0)
    throw ConfigError(fmt::format("no checkpoint of gradwire: the note {} is no number", name));
  return *number;
}

// "65536 12", in checkpoints of runs that scale their loss.
void read_loss_scale(const Notes& notes, TrainingPosition& position) {
  const auto found = notes.find("gradwire.loss_scale");
  if (found == notes.end()) return;
  std::istringstream words(found->second);
  words >> position.loss_scale >> position.good_steps;
  if (!words || !(position.loss_scale > 0) || position.good_steps < 0)
    throw ConfigError("no checkpoint of gradwire: the note gradwire.loss_scale is no scale");
}

std::vector<std::string> order_in(const Notes& notes) {
  const auto found = notes.find(kOrderNote);
  if (found == notes.end()) return {};
  std::vector<std::string> order;
  for (const auto name : split(found->second, '\n')) order.emplace_back(name);
  return order;
}

// What files hold, for one rank of those that read them.
class Loaded {
 public:
  Loaded(const Communicator& reader, const HookPlace& place)
      : rank_(place.rank < 0 ? reader.rank() : place.rank),
        ranks_(place.rank < 0 ? reader.size() : place.ranks) {}

  Tensors tensors;  // that all ranks have
  Tensors own;      // what each had of its own: this rank's, or the mean where there were more ranks or fewer
  int owners = 0;   // so many ranks had some
  int readers() const { return ranks_; }  // for so many it is made
  std::optional<TrainingPosition> position;

  void add(const TensorFile& file, Unchecked unchecked) {
    for (const auto& stored : file.tensors()) {
      if (const auto of_rank = find_rank_name(stored.name))
        add_own(*of_rank, stored);
      else
        tensors[stored.name] = tensor_of(stored);
    }
    TrainingPosition of_file{.step = number_in(file.notes(), "gradwire.step", unchecked),
                             .epoch = number_in(file.notes(), "gradwire.epoch", unchecked)};
    read_loss_scale(file.notes(), of_file);
    of_file.gradient_order = position ? position->gradient_order : order_in(file.notes());
    if (position && of_file != *position) throw ConfigError("this part is of another step than the others");
    position = of_file;
  }

  void check_complete() const {
    for (const auto& [name, count] : seen_)
      if (count != owners)
        throw ConfigError(fmt::format("it has '{}' of {} ranks and not of all {}", name, count, owners));
  }

 private:
  void add_own(const RankName& name, const StoredTensor& stored) {
    if (owners != 0 && owners != name.ranks)
      throw ConfigError(
          fmt::format("'{}' is of another number of ranks than what is beside it", stored.name));
    owners = name.ranks;
    ++seen_[name.tensor];
    if (owners != ranks_)
      add_to_mean(name.tensor, tensor_of(stored));
    else if (name.rank == rank_)
      own[name.tensor] = tensor_of(stored);
  }

  void add_to_mean(const std::string& name, torch::Tensor tensor) {
    const auto sum = own.find(name);
    if (!tensor.is_floating_point() || (sum != own.end() && sum->second.sizes() != tensor.sizes()))
      throw ConfigError(fmt::format("'{}' of one rank can't be added to that of another", name));
    tensor.div_(owners);
    if (sum == own.end())
      own[name] = tensor;
    else
      sum->second.add_(tensor);
  }

  const Rank rank_;
  const int ranks_;
  std::map<std::string, int> seen_;  // of how many ranks
};

// Pieces of sharded models become the tensors they are of.
Tensors without_pieces(const Tensors& tensors) {
  Tensors whole;
  std::map<std::string, std::vector<PieceName>> pieces;
  for (const auto& [name, tensor] : tensors) {
    const auto piece = find_piece_name(name);
    if (!piece || tensor.numel() != piece->end - piece->begin)
      whole[name] = tensor;
    else
      pieces[piece->tensor].push_back(*piece);
  }
  for (const auto& [name, parts] : pieces) {
    check_pieces(parts);
    auto flat =
        torch::empty({*find_elements(parts.front().shape)}, tensors.at(piece_name(parts.front())).options());
    for (const auto& part : parts)
      flat.narrow(0, part.begin, part.end - part.begin).copy_(tensors.at(piece_name(part)));
    whole[name] = flat.view(parts.front().shape);
  }
  return whole;
}

// And so do parts of models that tensor parallelism has cut.
Tensors joined(const Tensors& tensors) {
  Tensors whole;
  std::map<std::string, std::map<int, CutPiece>> cut;
  for (const auto& [name, tensor] : without_pieces(tensors)) {
    const auto part = find_cut_name(name);
    if (!part)
      whole[name] = tensor;
    else
      cut[part->tensor][part->part.index] = {part->part, tensor};
  }
  for (const auto& [name, pieces] : cut)
    whole[name] = speaking_of(name, [&, &parts = pieces] { return joined_cut(parts); });
  return whole;
}

// One rank reads a file, all get it.
std::unique_ptr<TensorFile> fetch(const Path& path, Rank reader, Communicator& communicator,
                                  Unchecked unchecked) {
  return std::make_unique<TensorFile>(
      share_result(communicator, reader, [&] { return read_tensor_bytes(path); }), path.string(), unchecked);
}

void load_part(const Path& path, const PartEntry& part, Rank reader, Communicator& communicator,
               Unchecked unchecked, Loaded& loaded) {
  const auto file = fetch(path, reader, communicator, unchecked);
  speaking_of(path, [&] {
    if (file->checksum() != part.checksum)
      throw ConfigError("this is not the part that its checkpoint was written with");
    loaded.add(*file, unchecked);
  });
}

// The tensor of a checkpoint for one of the model's; throws when it does not fit.
const torch::Tensor& fitting(const Tensors& tensors, const NamedTensor& wanted) {
  const auto found = tensors.find(wanted.name);
  if (found == tensors.end())
    throw ConfigError(fmt::format("it has no '{}': it is of another model", wanted.name));
  const auto& have = found->second;
  if (have.sizes() != wanted.tensor.sizes() || have.scalar_type() != wanted.tensor.scalar_type())
    throw ConfigError(fmt::format("'{}' is {} {} in it and {} {} in this model", wanted.name,
                                  torch::toString(have.scalar_type()), fmt::join(have.sizes().vec(), "x"),
                                  torch::toString(wanted.tensor.scalar_type()),
                                  fmt::join(wanted.tensor.sizes().vec(), "x")));
  return have;
}

// What the hook of the gradients had kept of what it sees; nothing where the checkpoint has none of it, or of a model that was
// cut otherwise.
std::optional<HookState> find_hook_state(const Loaded& loaded, const HookPlace& place) {
  HookState kept;
  bool cut_alike = true;
  const auto take = [&](const Tensors& from, Tensors& to) {
    for (const auto& [name, tensor] : from) {
      if (!name.starts_with(kHookPrefix)) continue;
      const auto saved = std::string_view(name).substr(kHookPrefix.size());
      cut_alike = cut_alike && is_cut_alike(place, saved);
      if (const auto own = find_own_name(place, saved)) to[*own] = tensor;
    }
  };
  take(loaded.tensors, kept.shared);
  take(loaded.own, kept.own);
  if (!cut_alike || (kept.shared.empty() && kept.own.empty())) return std::nullopt;
  return kept;
}

void restore_hook(const Path& path, const Loaded& loaded, const LoadedHook& to,
                  const Communicator& communicator) {
  const auto kept = find_hook_state(loaded, to.place);
  if (kept) to.hook->restore(*kept);
  if (communicator.rank() != 0) return;
  if (!kept)
    say("gradwire",
        fmt::format(
            "{}: {} is in it of what the gradients' compression keeps from step to step, which begins anew",
            path.string(), loaded.own.empty() ? "nothing" : "nothing that fits how the model is cut now"));
  else if (!kept->own.empty() && loaded.owners != loaded.readers())
    say("gradwire",
        fmt::format(
            "{}: what the gradients' compression had left out on each of {} ranks goes on as its "
            "mean on each of {}: in sum nothing is lost, but losses are not those of an undisturbed run",
            path.string(), loaded.owners, loaded.readers()));
}

void check_fits(const Tensors& tensors, const TrainingState& state) {
  for (const auto* group : {&state.model.parameters, &state.model.buffers})
    for (const auto& wanted : *group) fitting(tensors, wanted);
}

void restore(const Tensors& tensors, const TrainingState& state) {
  if (state.optimizer) set_optimizer_tensors(*state.optimizer, state.model.parameters, tensors);
  const torch::NoGradGuard no_grad;
  for (const auto* group : {&state.model.parameters, &state.model.buffers})
    for (const auto& wanted : *group) torch::Tensor(wanted.tensor).copy_(fitting(tensors, wanted));
}

// Reads a checkpoint, gives it to `use`, and removes what killed runs have left beside it.
TrainingPosition load_files(const Path& path, Communicator& communicator, Unchecked unchecked,
                            const HookPlace& place, const std::function<void(const Loaded&)>& use) {
  Loaded loaded(communicator, place);
  const auto file = fetch(path, 0, communicator, unchecked);
  const auto parts = speaking_of(path, [&] {
    loaded.add(*file, unchecked);
    return parts_in(file->notes());
  });
  for (std::size_t i = 0; i < parts.size(); ++i)
    load_part(followed(path).parent_path() / parts[i].name, parts[i],
              static_cast<Rank>(i) % communicator.size(), communicator, unchecked, loaded);
  speaking_of(path, [&] {
    loaded.check_complete();
    use(loaded);
  });
  if (communicator.rank() == 0) remove_leftovers(followed(path), parts);
  return *loaded.position;
}

}  // namespace

std::optional<std::string> find_fault(const Path& path) {
  try {
    const TensorFile file(path);
    for (const auto& part : speaking_of(path, [&] { return parts_in(file.notes()); })) {
      const Path place = followed(path).parent_path() / part.name;
      if (TensorFile(place).checksum() != part.checksum)
        return fmt::format("{}: this is not the part that its checkpoint was written with", place.string());
    }
    return std::nullopt;
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TrainingPosition load_checkpoint(const Path& path, const TrainingState& state, Communicator& communicator,
                                 Unchecked unchecked) {
  return load_files(path, communicator, unchecked, state.hook_place, [&](const Loaded& loaded) {
    const auto tensors = joined(loaded.tensors);
    check_fits(tensors, state);
    if (state.hook != nullptr) restore_hook(path, loaded, {state.hook, state.hook_place}, communicator);
    restore(tensors, state);
  });
}

TrainingPosition load_tensors(const Path& path, Communicator& communicator, Unchecked unchecked,
                              const std::function<void(const Tensors&)>& use, const LoadedHook& hook) {
  return load_files(path, communicator, unchecked, hook.place, [&](const Loaded& loaded) {
    if (hook.hook != nullptr)
      share_results(communicator, [&] {
        restore_hook(path, loaded, hook, communicator);
        return std::string();
      });
    use(joined(loaded.tensors));
  });
}

}  // namespace gradwire

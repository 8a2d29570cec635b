#include "train/loop/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "train/loop/optimizer_state.h"
#include "train/loop/share_text.h"
#include "train/loop/tensor_file.h"

namespace gradwire {
namespace {

using Path = std::filesystem::path;
using Tensors = std::map<std::string, torch::Tensor>;

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

std::vector<NamedTensor> tensors_of(const TrainingState& state) {
  std::vector<NamedTensor> all = state.model.parameters;
  all.insert(all.end(), state.model.buffers.begin(), state.model.buffers.end());
  if (state.optimizer) {
    const auto learnt = optimizer_tensors(*state.optimizer, state.model.parameters);
    all.insert(all.end(), learnt.begin(), learnt.end());
  }
  for (auto& entry : all) entry.tensor = entry.tensor.detach().to(torch::kCPU).contiguous();
  return all;
}

// Largest first to whoever has least: the same on every rank because tensors are.
std::vector<NamedTensor> share_of(std::vector<NamedTensor> all, Rank rank, int ranks) {
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.tensor.nbytes() > b.tensor.nbytes(); });
  std::vector<std::size_t> load(static_cast<std::size_t>(ranks));
  std::vector<NamedTensor> mine;
  for (auto& entry : all) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += entry.tensor.nbytes();
    if (least - load.begin() == rank) mine.push_back(std::move(entry));
  }
  return mine;
}

void write_tensors(const Path& path, const std::vector<NamedTensor>& tensors, const Notes& notes) {
  std::vector<StoredTensor> stored;
  for (const auto& [name, tensor] : tensors)
    stored.push_back({name,
                      type_name(tensor.scalar_type()),
                      tensor.sizes().vec(),
                      {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
  write_tensor_file(path, stored, notes);
}

Notes notes_of(const TrainingPosition& position) {
  return {{"gradwire.step", std::to_string(position.step)},
          {"gradwire.epoch", std::to_string(position.epoch)}};
}

std::string shard_name(const Path& path, std::int64_t step, Rank rank, int ranks) {
  return fmt::format("{}.step-{}.{}-of-{}", path.filename().string(), step, rank, ranks);
}

std::vector<std::string> shards_in(const Notes& notes) {
  const auto found = notes.find("gradwire.shards");
  if (found == notes.end()) return {};
  std::vector<std::string> names;
  for (const auto name : split(found->second, '\n')) {
    // A name from a file must not lead anywhere else.
    if (name.empty() || name.find('/') != std::string_view::npos)
      throw ConfigError(fmt::format("'{:.60}' is not the name of a part", name));
    names.emplace_back(name);
  }
  return names;
}

// The parts of the checkpoint that is at `path` now; none where there is no readable one.
std::vector<std::string> find_old_shards(const Path& path) {
  try {
    return shards_in(TensorFile(path).notes());
  } catch (const ConfigError&) {
    return {};
  }
}

void save_sharded(const Path& path, const TrainingState& state, const TrainingPosition& position,
                  Communicator& communicator) {
  const int ranks = communicator.size();
  std::vector<std::string> names;
  for (Rank rank = 0; rank < ranks; ++rank) names.push_back(shard_name(path, position.step, rank, ranks));
  std::string error;
  try {
    write_tensors(path.parent_path() / names[static_cast<std::size_t>(communicator.rank())],
                  share_of(tensors_of(state), communicator.rank(), ranks), notes_of(position));
  } catch (const ConfigError& caught) {
    error = caught.what();
  }
  for (Rank rank = 0; rank < ranks; ++rank)
    if (const auto text = share_text(communicator, error, rank); !text.empty()) throw ConfigError(text);
  share_result(communicator, 0, [&] {
    const auto old = find_old_shards(path);
    Notes notes = notes_of(position);
    notes["gradwire.shards"] = join(names, "\n");
    write_tensors(path, {}, notes);
    for (const auto& name : old)
      if (std::find(names.begin(), names.end(), name) == names.end())
        std::filesystem::remove(path.parent_path() / name);
    return std::string();
  });
}

torch::Tensor tensor_of(const StoredTensor& stored) {
  auto tensor = torch::empty(stored.shape, torch::TensorOptions().dtype(type_of(stored.dtype)));
  if (!stored.bytes.empty()) std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

std::int64_t number_in(const Notes& notes, const char* name) {
  const auto found = notes.find(name);
  const auto number = found == notes.end() ? std::nullopt : find_integer<std::int64_t>(found->second);
  if (!number || *number < 0)
    throw ConfigError(fmt::format("no checkpoint of gradwire: the note {} is no number", name));
  return *number;
}

struct Loaded {
  Tensors tensors;
  std::optional<TrainingPosition> position;
};

// Adds what a file holds; one rank reads it, all get it.
Notes load_file(const Path& path, Rank reader, Communicator& communicator, Loaded& loaded) {
  const TensorFile file(share_result(communicator, reader, [&] { return read_file(path); }), path.string());
  try {
    for (const auto& stored : file.tensors()) loaded.tensors[stored.name] = tensor_of(stored);
    const TrainingPosition position{number_in(file.notes(), "gradwire.step"),
                                    number_in(file.notes(), "gradwire.epoch")};
    if (loaded.position && position != *loaded.position)
      throw ConfigError("this part is of another step than the others");
    loaded.position = position;
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", path.string(), error.what()));
  }
  return file.notes();
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

void restore(const Tensors& tensors, const TrainingState& state) {
  for (const auto* group : {&state.model.parameters, &state.model.buffers})
    for (const auto& wanted : *group) fitting(tensors, wanted);
  if (state.optimizer) set_optimizer_tensors(*state.optimizer, state.model.parameters, tensors);
  const torch::NoGradGuard no_grad;
  for (const auto* group : {&state.model.parameters, &state.model.buffers})
    for (const auto& wanted : *group) torch::Tensor(wanted.tensor).copy_(fitting(tensors, wanted));
}

}  // namespace

void save_checkpoint(const Path& path, const TrainingState& state, const TrainingPosition& position,
                     Communicator& communicator, const CheckpointOptions& options) {
  if (options.sharded) return save_sharded(path, state, position, communicator);
  share_result(communicator, 0, [&] {
    write_tensors(path, tensors_of(state), notes_of(position));
    return std::string();
  });
}

TrainingPosition load_checkpoint(const Path& path, const TrainingState& state, Communicator& communicator) {
  Loaded loaded;
  const auto shards = shards_in(load_file(path, 0, communicator, loaded));
  for (std::size_t i = 0; i < shards.size(); ++i)
    load_file(path.parent_path() / shards[i], static_cast<Rank>(i) % communicator.size(), communicator,
              loaded);
  try {
    restore(loaded.tensors, state);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", path.string(), error.what()));
  }
  return *loaded.position;
}

}  // namespace gradwire

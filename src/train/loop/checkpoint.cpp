#include "train/loop/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/kept_files.h"
#include "base/secret.h"
#include "base/text.h"
#include "train/loop/optimizer_state.h"
#include "train/loop/share_text.h"
#include "train/loop/tensor_file.h"
#include "train/sharded/piece_name.h"

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

// What this rank writes of a sharded checkpoint.
std::vector<NamedTensor> part_for(const TrainingState& state, Communicator& communicator) {
  if (state.pieces.empty()) return share_of(tensors_of(state), communicator.rank(), communicator.size());
  std::vector<NamedTensor> mine = state.pieces;
  if (communicator.rank() == 0)
    mine.insert(mine.end(), state.model.buffers.begin(), state.model.buffers.end());
  for (auto& entry : mine) entry.tensor = entry.tensor.detach().to(torch::kCPU).contiguous();
  return mine;
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

// Returns the checksum. The file stays locked as long as its draft lives.
std::string write_tensors(FileDraft& file, const std::vector<NamedTensor>& tensors, const Notes& notes) {
  const auto draft = draft_of(tensors, notes);
  draft.write_to(file);
  file.commit();
  return draft.checksum();
}

Notes notes_of(const TrainingPosition& position) {
  return {{"gradwire.step", std::to_string(position.step)},
          {"gradwire.epoch", std::to_string(std::max<std::int64_t>(0, position.epoch))}};
}

// A part of a sharded checkpoint, as the file that lists them names it.
struct PartEntry {
  std::string name, checksum;
};

std::string part_name(const Path& path, std::int64_t step, const std::string& save, Rank rank, int ranks) {
  return fmt::format("{}.step-{}.{}.{}-of-{}", path.filename().string(), step, save, rank, ranks);
}

// Whether a save of ours, also of versions that drew no digits, may have given a file this name.
bool is_part_name(const std::string& name, const std::string& checkpoint) {
  const std::string begin = checkpoint + ".step-";
  if (!name.starts_with(begin)) return false;
  const auto words = split(std::string_view(name).substr(begin.size()), '.');
  const auto of = words.back().find("-of-");
  return (words.size() == 2 || (words.size() == 3 && words[1].size() == 8)) &&
         find_integer<std::int64_t>(words[0]) && of != std::string_view::npos &&
         find_integer<Rank>(words.back().substr(0, of)) && find_integer<Rank>(words.back().substr(of + 4));
}

std::string list_of(const std::vector<PartEntry>& parts) {
  std::vector<std::string> lines;
  for (const auto& part : parts) lines.push_back(part.name + " " + part.checksum);
  return join(lines, "\n");
}

std::vector<PartEntry> parts_in(const Notes& notes) {
  const auto found = notes.find("gradwire.shards");
  if (found == notes.end()) return {};
  std::vector<PartEntry> parts;
  for (const auto line : split(found->second, '\n')) {
    const auto space = std::min(line.rfind(' '), line.size());
    const auto name = line.substr(0, space);
    // A name from a file must not lead anywhere else.
    if (name.empty() || name.find('/') != std::string_view::npos)
      throw ConfigError(fmt::format("'{:.60}' is not the name of a part", name));
    parts.push_back({std::string(name), std::string(line.substr(std::min(space + 1, line.size())))});
  }
  return parts;
}

// Parts of sharded checkpoints that are kept. Lists are short; whole checkpoints are not, and have no parts.
std::vector<PartEntry> parts_of_versions(const Path& path) {
  constexpr std::uintmax_t kLongestList = 1 << 20;
  std::vector<PartEntry> all;
  std::error_code problem;
  for (const auto& version : list_versions(path)) {
    if (const auto size = std::filesystem::file_size(version, problem); problem || size > kLongestList)
      continue;
    try {
      const auto parts = parts_in(TensorFile(version).notes());
      all.insert(all.end(), parts.begin(), parts.end());
    } catch (const ConfigError&) {
      // It is no list, or damaged: then its parts are of no use.
    }
  }
  return all;
}

// What runs that were killed left beside a checkpoint, and the parts of the one it has replaced.
void remove_leftovers(const Path& path, std::vector<PartEntry> keep) {
  const auto file = path.filename().string();
  const auto kept = parts_of_versions(path);
  keep.insert(keep.end(), kept.begin(), kept.end());
  remove_abandoned(path, [&](const std::string& name) {
    const auto part = find_drafted(name).value_or(name);
    return is_part_name(part, file) &&
           std::none_of(keep.begin(), keep.end(), [&](const PartEntry& entry) { return entry.name == name; });
  });
  remove_abandoned_drafts(path);
}

// Which files a sharded save writes.
struct Plan {
  Path path;
  std::vector<PartEntry> parts;
  TrainingPosition position;
  int keep = 1;
};

// Rank 0 says where: all see the same storage.
Plan plan_parts(const Path& given, const TrainingPosition& position, Communicator& communicator) {
  const Path path = share_result(communicator, 0, [&] { return place_of(given).string(); });
  const auto save = share_result(communicator, 0, [] { return make_secret().substr(0, 8); });
  Plan plan{path, {}, position, 1};
  for (Rank rank = 0; rank < communicator.size(); ++rank)
    plan.parts.push_back({part_name(path, position.step, save, rank, communicator.size()), ""});
  return plan;
}

// The list is written when every part is on the disk; until then the checkpoint before is untouched.
void write_parts(Plan& plan, const TrainingState& state, Communicator& communicator,
                 std::optional<FileDraft>& mine) {
  const auto rank = static_cast<std::size_t>(communicator.rank());
  const auto checksums = share_results(communicator, [&] {
    mine.emplace(plan.path.parent_path() / plan.parts[rank].name);
    return write_tensors(*mine, part_for(state, communicator), notes_of(plan.position));
  });
  for (std::size_t i = 0; i < checksums.size(); ++i) plan.parts[i].checksum = checksums[i];
  share_result(communicator, 0, [&] {
    Notes notes = notes_of(plan.position);
    notes["gradwire.shards"] = list_of(plan.parts);
    FileDraft list(plan.path);
    write_tensors(list, {}, notes);
    if (plan.keep > 1) keep_version(plan.path, plan.position.step, plan.keep);
    remove_leftovers(plan.path, plan.parts);
    return std::string();
  });
}

// A rank that can't write is an error on all, and each takes its part back. After the loss of a rank nobody
// knows whether the list was written: then the parts stay, and the next run removes them if not.
void save_sharded(const Path& path, const TrainingState& state, const TrainingPosition& position,
                  Communicator& communicator, int keep) {
  Plan plan = plan_parts(path, position, communicator);
  plan.keep = keep;
  std::optional<FileDraft> mine;
  try {
    write_parts(plan, state, communicator, mine);
  } catch (const TransportError&) {
    throw;
  } catch (const Error&) {
    if (mine) mine->withdraw();
    throw;
  }
}

torch::Tensor tensor_of(const StoredTensor& stored) {
  auto tensor = torch::empty(stored.shape, torch::TensorOptions().dtype(type_of(stored.dtype)));
  if (!stored.bytes.empty()) std::memcpy(tensor.data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

std::int64_t number_in(const Notes& notes, const char* name, Unchecked unchecked) {
  const auto found = notes.find(name);
  if (found == notes.end() && unchecked == Unchecked::accept) return 0;
  const auto number = found == notes.end() ? std::nullopt : find_integer<std::int64_t>(found->second);
  if (!number || *number < 0)
    throw ConfigError(fmt::format("no checkpoint of gradwire: the note {} is no number", name));
  return *number;
}

struct Loaded {
  Tensors tensors;
  std::optional<TrainingPosition> position;

  void add(const TensorFile& file, Unchecked unchecked) {
    for (const auto& stored : file.tensors()) tensors[stored.name] = tensor_of(stored);
    const TrainingPosition of_file{number_in(file.notes(), "gradwire.step", unchecked),
                                   number_in(file.notes(), "gradwire.epoch", unchecked)};
    if (position && of_file != *position) throw ConfigError("this part is of another step than the others");
    position = of_file;
  }
};

// Pieces of sharded models become the tensors they are of.
Tensors joined(const Tensors& tensors) {
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

// Calls the function and puts the path in front of what it complains about.
template <typename Function>
auto speaking_of(const Path& path, const Function& function) {
  try {
    return function();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

// One rank reads a file, all get it.
std::unique_ptr<TensorFile> fetch(const Path& path, Rank reader, Communicator& communicator,
                                  Unchecked unchecked) {
  return std::make_unique<TensorFile>(
      share_result(communicator, reader, [&] { return read_file(path, kLargestFile); }), path.string(),
      unchecked);
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

void restore(const Tensors& tensors, const TrainingState& state) {
  for (const auto* group : {&state.model.parameters, &state.model.buffers})
    for (const auto& wanted : *group) fitting(tensors, wanted);
  if (state.optimizer) set_optimizer_tensors(*state.optimizer, state.model.parameters, tensors);
  const torch::NoGradGuard no_grad;
  for (const auto* group : {&state.model.parameters, &state.model.buffers})
    for (const auto& wanted : *group) torch::Tensor(wanted.tensor).copy_(fitting(tensors, wanted));
}

// Parts lie beside the file itself, wherever a link leads.
Path followed(const Path& path) {
  std::error_code none;
  const Path real = std::filesystem::canonical(path, none);
  return none ? path : real;
}

}  // namespace

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

void write_checkpoint(const Path& given, const std::vector<NamedTensor>& tensors,
                      const TrainingPosition& position, int keep) {
  const Path path = place_of(given);
  FileDraft file(path);
  write_tensors(file, tensors, notes_of(position));
  if (keep > 1) keep_version(path, position.step, keep);
  remove_leftovers(path, {});
}

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

void save_checkpoint(const Path& path, const TrainingState& state, const TrainingPosition& position,
                     Communicator& communicator, const CheckpointOptions& options) {
  check(options.sharded || state.pieces.empty(), "pieces are saved by the rank that has them");
  if (options.sharded) return save_sharded(path, state, position, communicator, options.keep);
  share_result(communicator, 0, [&] {
    write_checkpoint(path, tensors_of(state), position, options.keep);
    return std::string();
  });
}

TrainingPosition load_checkpoint(const Path& path, const TrainingState& state, Communicator& communicator,
                                 Unchecked unchecked) {
  return load_tensors(path, communicator, unchecked,
                      [&](const Tensors& tensors) { restore(tensors, state); });
}

TrainingPosition load_tensors(const Path& path, Communicator& communicator, Unchecked unchecked,
                              const std::function<void(const Tensors&)>& use) {
  Loaded loaded;
  const auto file = fetch(path, 0, communicator, unchecked);
  const auto parts = speaking_of(path, [&] {
    loaded.add(*file, unchecked);
    return parts_in(file->notes());
  });
  for (std::size_t i = 0; i < parts.size(); ++i)
    load_part(followed(path).parent_path() / parts[i].name, parts[i],
              static_cast<Rank>(i) % communicator.size(), communicator, unchecked, loaded);
  speaking_of(path, [&] { use(joined(loaded.tensors)); });
  if (communicator.rank() == 0) remove_leftovers(followed(path), parts);
  return *loaded.position;
}

}  // namespace gradwire

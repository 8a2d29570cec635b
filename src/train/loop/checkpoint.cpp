#include "train/loop/checkpoint.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/kept_files.h"
#include "base/say.h"
#include "base/secret.h"
#include "base/text.h"
#include "train/loop/checkpoint_files.h"
#include "train/loop/optimizer_state.h"
#include "train/loop/rank_name.h"
#include "train/loop/share_result.h"
#include "train/loop/stored_tensor.h"

namespace gradwire {
namespace {

using Path = std::filesystem::path;

torch::Tensor on_host(const torch::Tensor& tensor) { return tensor.detach().to(torch::kCPU).contiguous(); }

// Largest first to whoever has least: the same on every rank because tensors are.
std::vector<NamedTensor> dealt_to(Rank rank, int ranks, std::vector<NamedTensor> all) {
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

// What the hook of each rank has of its own.
void add_own(std::vector<NamedTensor>& part, const TrainingState& state, const Communicator& communicator) {
  if (state.hook == nullptr) return;
  const auto& place = state.hook_place;
  const bool placed = place.rank >= 0;
  for (const auto& [name, tensor] : state.hook->state().own)
    part.push_back({rank_name({hook_name(saved_name(place, name)), placed ? place.rank : communicator.rank(),
                               placed ? place.ranks : communicator.size()}),
                    tensor});
}

// What hooks share that have the same part of a model: the first of them writes it, and rank 0 what all have.
void add_shared(std::vector<NamedTensor>& part, const TrainingState& state,
                const Communicator& communicator) {
  if (state.hook == nullptr || state.hook_place.rank != 0) return;
  for (const auto& [name, tensor] : state.hook->state().shared)
    if (const auto saved = saved_name(state.hook_place, name); saved != name || communicator.rank() == 0)
      part.push_back({hook_name(saved), tensor});
}

// What this rank writes of a sharded checkpoint. Buffers are rank 0's, as they are in one file: ranks have running means of
// their own batches, and go on with that rank's.
std::vector<NamedTensor> part_for(const TrainingState& state, Communicator& communicator) {
  std::vector<NamedTensor> mine = state.pieces;
  if (mine.empty()) {
    TrainingState alike = state;
    alike.model.buffers.clear();
    mine = dealt_to(communicator.rank(), communicator.size(), tensors_of(alike));
  }
  if (communicator.rank() == 0)
    mine.insert(mine.end(), state.model.buffers.begin(), state.model.buffers.end());
  if (!state.pieces.empty()) add_shared(mine, state, communicator);
  add_own(mine, state, communicator);
  for (auto& entry : mine) entry.tensor = on_host(entry.tensor);
  return mine;
}

Notes notes_of_part(const TrainingPosition& position) {
  Notes notes = {{"gradwire.step", std::to_string(position.step)},
                 {"gradwire.epoch", std::to_string(std::max<std::int64_t>(0, position.epoch))}};
  if (position.loss_scale > 0)
    notes["gradwire.loss_scale"] = fmt::format("{} {}", position.loss_scale, position.good_steps);
  return notes;
}

Notes notes_of(const TrainingPosition& position) {
  Notes notes = notes_of_part(position);
  if (!position.gradient_order.empty()) notes[kOrderNote] = join(position.gradient_order, "\n");
  return notes;
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
  PartedSave save{.step = position.step, .ranks = communicator.size()};
  save.path = share_result(communicator, 0, [&] { return place_of(given).string(); });
  save.digits = share_result(communicator, 0, [] { return make_secret().substr(0, 8); });
  Plan plan{save.path, {}, position, 1};
  for (Rank rank = 0; rank < save.ranks; ++rank) plan.parts.push_back({part_name(save, rank), ""});
  return plan;
}

// What remains once a checkpoint is in its place. Nothing that goes wrong here makes it worth less.
void tidy_up(const Path& path, std::int64_t step, int keep, const std::vector<PartEntry>& parts) {
  const auto attempt = [](const auto& task) {
    try {
      task();
    } catch (const std::exception& error) {
      say("gradwire", fmt::format("warning: {}; the checkpoint itself is written", error.what()));
    }
  };
  attempt([&] {
    if (keep > 1) keep_version(path, step, keep);
  });
  attempt([&] { remove_leftovers(path, parts); });
}

// The list is written when every part is on the disk; until then the checkpoint before is untouched.
void write_parts(Plan& plan, const TrainingState& state, Communicator& communicator,
                 std::optional<FileDraft>& mine) {
  const auto rank = static_cast<std::size_t>(communicator.rank());
  const auto checksums = share_results(communicator, [&] {
    mine.emplace(plan.path.parent_path() / plan.parts[rank].name);
    return write_tensors(*mine, part_for(state, communicator), notes_of_part(plan.position));
  });
  for (std::size_t i = 0; i < checksums.size(); ++i) plan.parts[i].checksum = checksums[i];
  share_result(communicator, 0, [&] {
    Notes notes = notes_of(plan.position);
    list_parts(notes, plan.parts);
    FileDraft list(plan.path);
    write_tensors(list, {}, notes);
    tidy_up(plan.path, plan.position.step, plan.keep, plan.parts);
    return std::string();
  });
}

// A rank that can't write is an error on all, which is before the list is in its place, and each takes its part back. After the loss of a rank nobody
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

}  // namespace

void check_savable(const TrainingState& state, const CheckpointOptions& options) {
  if (state.hook != nullptr && !options.sharded)
    throw ConfigError(
        "what the hook of the gradients keeps differs from rank to rank, so each saves its own: set "
        "CheckpointOptions::sharded, or leave TrainingState::hook out");
}

std::vector<NamedTensor> tensors_of(const TrainingState& state) {
  std::vector<NamedTensor> all = state.model.parameters;
  all.insert(all.end(), state.model.buffers.begin(), state.model.buffers.end());
  if (state.optimizer) {
    const auto learnt = optimizer_tensors(*state.optimizer, state.model.parameters);
    all.insert(all.end(), learnt.begin(), learnt.end());
  }
  if (state.hook)
    for (const auto& [name, tensor] : state.hook->state().shared) all.push_back({hook_name(name), tensor});
  for (auto& entry : all) entry.tensor = on_host(entry.tensor);
  return all;
}

void write_checkpoint(const Path& given, const std::vector<NamedTensor>& tensors,
                      const TrainingPosition& position, int keep) {
  const Path path = place_of(given);
  FileDraft file(path);
  write_tensors(file, tensors, notes_of(position));
  tidy_up(path, position.step, keep, {});
}

void save_checkpoint(const Path& path, const TrainingState& state, const TrainingPosition& position,
                     Communicator& communicator, const CheckpointOptions& options) {
  check(options.sharded || state.pieces.empty(), "pieces are saved by the rank that has them");
  check_savable(state, options);
  if (options.sharded) return save_sharded(path, state, position, communicator, options.keep);
  share_result(communicator, 0, [&] {
    write_checkpoint(path, tensors_of(state), position, options.keep);
    return std::string();
  });
}

}  // namespace gradwire

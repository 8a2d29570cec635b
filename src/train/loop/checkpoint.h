// The state of a training run in a file that any number of ranks can go on from: parameters, buffers,
// optimizer and where it was. A file appears whole or not at all; a run that is killed while it saves leaves
// the checkpoint before.
//
//   save_checkpoint("run.ckpt", state, position, *comm);
//   position = load_checkpoint("run.ckpt", state, *comm);     // also with another number of ranks
//
// All ranks call both. The files are safetensors (tensor_file.h) with a checksum over every byte. Rank 0 writes
// one file; sharded, every rank writes a part ("run.ckpt.step-20.1f09a2b3.0-of-2"), and then the named file
// lists the parts with the checksum of each: faster where the storage is. The digits in a part's name are drawn
// anew by each save, so parts of two runs or two saves never mix. The parts before stay until the new list is
// on the disk; whatever a killed run left beside the file is removed by the next save or load. Reading is
// shared alike: a file is read by one rank and sent to the others, so only sharded checkpoints need storage
// that all nodes see.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "train/ddp.h"
#include "train/loop/hook_place.h"
#include "train/loop/tensor_file.h"

namespace gradwire {

struct TrainingState {
  ModelTensors model;                            // of tensors_of_model()
  torch::optim::Optimizer* optimizer = nullptr;  // borrowed; may be left out
  // Of a sharded model (sharded/shard_checkpoint.h): what this rank alone has, instead of parameters and optimizer. Saved
  // with CheckpointOptions::sharded, and joined to whole tensors when loaded.
  std::vector<NamedTensor> pieces = {};
  // Of DdpOptions::hook, where it keeps anything (PowerSGD): borrowed. What it keeps differs from rank to rank, so it is saved
  // with CheckpointOptions::sharded alone. As many ranks go on to the bit; of another number each begins with the
  // mean of what all had, so that in sum nothing is lost, and rank 0 says so on stderr. From a checkpoint without it,
  // it begins anew, which is said too.
  KeepingHook* hook = nullptr;
  HookPlace hook_place = {};  // whose, where ranks have parts of the model
};

struct TrainingPosition {
  std::int64_t step = 0, epoch = 0;
  // Of a loss that is scaled (precision/loss_scale.h); 0: it is not.
  double loss_scale = 0;
  int good_steps = 0;
  // Of DistributedDataParallel::gradient_order(); empty where there is none.
  std::vector<std::string> gradient_order = {};
  bool operator==(const TrainingPosition&) const = default;
};

struct CheckpointOptions {
  bool sharded = false;
  // So many in all: the newest, and others beside it (base/kept_files.h). One that can't be kept is said on stderr.
  int keep = 1;
};

// The communicator moves host memory (any but NCCL). When a rank can't write, all throw its ConfigError or
// FileError, and nothing of the new checkpoint is left.
void save_checkpoint(const std::filesystem::path& path, const TrainingState& state,
                     const TrainingPosition& position, Communicator& communicator,
                     const CheckpointOptions& options = {});

// Throws ConfigError where the state can't be saved like this.
void check_savable(const TrainingState& state, const CheckpointOptions& options);

// The two halves of a save of one file: what there is to save, on the host and borrowed where it is there
// already; and writing it, by one rank, in any thread.
std::vector<NamedTensor> tensors_of(const TrainingState& state);
void write_checkpoint(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                      const TrainingPosition& position, int keep);

// What is wrong with a checkpoint that lies on this host's disk, parts included; nothing where it is whole.
std::optional<std::string> find_fault(const std::filesystem::path& path);

// Throws ConfigError, the same on all ranks and before anything is changed, when the file is cut, damaged, no
// checkpoint, or one of another model: the text names the tensor. Without our checksum it is loaded only where
// the caller accepts that, from step 0 where it says none.
TrainingPosition load_checkpoint(const std::filesystem::path& path, const TrainingState& state,
                                 Communicator& communicator, Unchecked unchecked = Unchecked::refuse);

// What a checkpoint holds, as whole tensors by name, given to `use`, which throws ConfigError where it does not fit. What
// the hook had kept, where there is one, is restored before.
struct LoadedHook {
  KeepingHook* hook = nullptr;
  HookPlace place = {};
};
TrainingPosition load_tensors(const std::filesystem::path& path, Communicator& communicator,
                              Unchecked unchecked,
                              const std::function<void(const std::map<std::string, torch::Tensor>&)>& use,
                              const LoadedHook& hook = {});

}  // namespace gradwire

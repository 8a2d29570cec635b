// The state of a training run in a file that any number of ranks can go on from: parameters, buffers,
// optimizer and where it was. A file appears whole or not at all; a run that is killed while it saves leaves
// the checkpoint before.
//
//   save_checkpoint("run.ckpt", state, position, *comm);
//   position = load_checkpoint("run.ckpt", state, *comm);     // also with another number of ranks
//
// All ranks call both. The files are safetensors (tensor_file.h). Rank 0 writes one file; sharded, every rank
// writes a part, and the named file lists the parts: faster where the storage is. Reading is shared alike: a
// file is read by one rank and sent to the others, so only sharded checkpoints need storage that all nodes
// see.
#pragma once

#include <cstdint>
#include <filesystem>

#include "comm/communicator.h"
#include "train/ddp.h"

namespace gradwire {

struct TrainingState {
  ModelTensors model;                            // of tensors_of_model()
  torch::optim::Optimizer* optimizer = nullptr;  // borrowed; may be left out
};

struct TrainingPosition {
  std::int64_t step = 0, epoch = 0;
  bool operator==(const TrainingPosition&) const = default;
};

struct CheckpointOptions {
  bool sharded = false;
};

// The communicator moves host memory (any but NCCL). When a rank can't write, all throw its ConfigError.
void save_checkpoint(const std::filesystem::path& path, const TrainingState& state,
                     const TrainingPosition& position, Communicator& communicator,
                     const CheckpointOptions& options = {});

// Throws ConfigError, the same on all ranks and before anything is changed, when the file is cut, is no
// checkpoint, or is one of another model: the text names the tensor.
TrainingPosition load_checkpoint(const std::filesystem::path& path, const TrainingState& state,
                                 Communicator& communicator);

}  // namespace gradwire

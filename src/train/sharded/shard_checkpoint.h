// Checkpoints of a model of which a rank holds pieces: shares of a sharded one, parts of one that is cut among the ranks of a mesh,
// or both. Every rank writes what it holds, of parameters and of what the optimizer has learnt, under names that say what of
// which tensor it is (piece_name.h, cut_name.h). They are checkpoints like any other (loop/checkpoint.h) of the whole model: any
// number of ranks goes on from them, sharded in any stage or not at all, cut in any way; and what DistributedDataParallel
// has saved goes on in pieces.
#pragma once

#include <filesystem>
#include <vector>

#include "train/loop/checkpoint.h"
#include "train/sharded/sharded.h"

namespace gradwire {

// What a rank holds. Borrows from the model.
struct HeldPieces {
  std::vector<ParameterPiece> pieces = {};
  std::vector<torch::Tensor> parameters = {};  // what the optimizer was made with
  std::vector<NamedTensor> buffers = {};       // whole
  LoadedHook hook = {};                        // of the gradients, where it keeps anything: to be restored
};
HeldPieces held_by(ShardedCore& core);

// For save_checkpoint(), with CheckpointOptions::sharded. Borrows from the model and the optimizer, which may be left
// out, until it is saved. All ranks' pieces together are the model, each element once; rank 0's buffers are saved.
TrainingState state_of_pieces(const HeldPieces& held, torch::optim::Optimizer* optimizer);
TrainingState sharded_state(ShardedCore& core, torch::optim::Optimizer* optimizer);

// As load_checkpoint() of loop/checkpoint.h. A rank reads every file, and has the whole checkpoint in host memory while
// it does. Of pieces: whoever keeps copies of them is told that they have changed by the caller.
TrainingPosition load_checkpoint(const std::filesystem::path& path, const HeldPieces& held,
                                 torch::optim::Optimizer* optimizer, Communicator& communicator,
                                 Unchecked unchecked = Unchecked::refuse);
TrainingPosition load_checkpoint(const std::filesystem::path& path, ShardedCore& core,
                                 torch::optim::Optimizer* optimizer, Communicator& communicator,
                                 Unchecked unchecked = Unchecked::refuse);

}  // namespace gradwire

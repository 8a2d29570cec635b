// Checkpoints of a sharded model: every rank writes the pieces it holds (piece_name.h), of parameters and of what the
// optimizer has learnt, and any number of ranks goes on from them, sharded in any stage or not at all. They are
// checkpoints like any other (loop/checkpoint.h): a sharded model also loads what DistributedDataParallel has saved.
#pragma once

#include <filesystem>

#include "train/loop/checkpoint.h"
#include "train/sharded/sharded.h"

namespace gradwire {

// For save_checkpoint(), with CheckpointOptions::sharded. Borrows from the model and the optimizer, which may be left
// out, until it is saved.
TrainingState sharded_state(ShardedCore& core, torch::optim::Optimizer* optimizer);

// As load_checkpoint() of loop/checkpoint.h. A rank reads every file, and has the whole checkpoint in host memory while
// it does.
TrainingPosition load_checkpoint(const std::filesystem::path& path, ShardedCore& core,
                                 torch::optim::Optimizer* optimizer, Communicator& communicator,
                                 Unchecked unchecked = Unchecked::refuse);

}  // namespace gradwire

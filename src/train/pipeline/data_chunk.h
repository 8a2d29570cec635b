// A chunk of a pipeline as the ranks along the mesh's data dimension hold it: each has all of it (DistributedDataParallel), or
// they share it (ShardedDataParallel), in one precision, or computing in 16 bits what is learnt in float32. After the last
// backward of a step and after_step(), gradients of parameters() are the averages over those ranks.
//
// All ranks of the group make one, with the same options, and call it alike. The communicator is borrowed. Belongs to
// one thread.
#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/ddp.h"
#include "train/pipeline/piece.h"
#include "train/sharded/sharded.h"

namespace gradwire {

struct ReplicaOptions {
  DdpOptions ddp = {};  // of a chunk that every rank has whole
  int shard = 0;        // 1, 2, 3: as ShardOptions::stage; 0: nothing is shared
  // float16, bfloat16: parameters, gradients and activations are of this type, and an optimizer changes float32 copies.
  // (Where libtorch has no kernels for it they are float32, rounded to it.)
  std::optional<torch::ScalarType> precision = {};
};

// Bytes on this rank.
struct ChunkMemory {
  int parts = 0;         // buckets, or sharded units
  Bytes sent = 0;        // gradients of the chunk as they travel
  Bytes parameters = 0;  // with float32 copies and their gradients
  Bytes gathered = 0;    // whole units of a sharded chunk, beside the shares
  Bytes gradients = 0;
};

class DataChunk {
 public:
  virtual ~DataChunk() = default;
  // `last`: the backward that belongs to it is the step's last. Without gradients it is the chunk's forward.
  virtual torch::Tensor forward(const torch::Tensor& input, bool last) = 0;
  virtual void before_backward(bool last) = 0;
  virtual void after_step() = 0;
  virtual void changed() = 0;  // parameters() were, by something else than an optimizer after a step

  virtual std::vector<torch::Tensor> parameters() const = 0;  // what an optimizer is made with
  virtual std::vector<ParameterPiece> pieces() const = 0;     // of all parameters, what this rank has
  virtual ChunkMemory memory() const = 0;
  virtual void zero_grad() = 0;
  virtual void set_trace(Recorder* trace) = 0;
  // As DistributedDataParallel's; a chunk that is shared has none.
  virtual std::vector<std::string> gradient_order() const = 0;
  virtual void restore_gradient_order(const std::vector<std::string>& order) = 0;
};

// `units` says by the first word of a parameter's name which are gathered together.
using ChunkUnits = std::map<std::string, std::string>;
std::unique_ptr<DataChunk> make_data_chunk(std::shared_ptr<Chunk> chunk, Communicator& ranks,
                                           const ReplicaOptions& options, const ChunkUnits& units);

// The units of a model's pieces: what a piece has of its own is one; so is a module that several pieces name, which then is
// cut into the same shares wherever it lies.
ChunkUnits units_of_pieces(const std::vector<Piece>& pieces);

// What the options make a model compute in that is of `type`.
torch::ScalarType computes_in(const ReplicaOptions& options, torch::ScalarType type);

}  // namespace gradwire

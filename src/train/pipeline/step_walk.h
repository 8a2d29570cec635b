// Walks one rank's tasks of a step graph: computes, receives ahead of what needs it, sends behind what made it. What the
// graph says of collectives and updates is done by whoever wraps a chunk (its gradients are averaged inside the last
// backward) and by the optimizer after the step. Belongs to one thread.
#pragma once

#include <torch/torch.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "sched/step_graph.h"
#include "trace/recorder.h"

namespace gradwire {

struct MicroBatches {
  std::vector<torch::Tensor> inputs;   // one a micro-batch, all of one shape; the first stage's count
  std::vector<torch::Tensor> targets;  // the last stage's count
  // Of dropout, which then depends on the step's seed, the micro-batch and the piece of the model alone; unset: it begins
  // where torch's generator stands.
  std::optional<std::uint64_t> seed = {};
};

using MicroBatchLoss = std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& target)>;

struct TensorShape {
  std::vector<std::int64_t> sizes;
  torch::ScalarType type = torch::kFloat32;
  torch::Tensor make(torch::Device device) const {
    return torch::empty(sizes, torch::TensorOptions().dtype(type).device(device));
  }
  Bytes bytes() const;
};

// A shape as numbers, to be sent: type, number of dimensions, sizes.
using ShapeNumbers = std::array<std::int64_t, 10>;
ShapeNumbers numbers_of(
    const torch::Tensor& tensor);  // throws ConfigError for more dimensions than there is room for
TensorShape shape_from(const ShapeNumbers& numbers);

// A forward that is due.
struct ChunkForward {
  int chunk = 0;
  torch::Tensor input;
  bool last = false;  // the chunk's gradients are complete after the backward that belongs to it
  std::optional<std::uint64_t> seed = {};  // of this micro-batch, whichever rank does it: see MicroBatches
};

// What stays the same from step to step. Everything is borrowed.
struct WalkPlan {
  Rank rank = 0;  // in the graph
  const StepGraph* graph = nullptr;
  const std::vector<TensorShape>* shapes = nullptr;                        // of each chunk's output
  const std::map<int, std::unique_ptr<Communicator>>* channels = nullptr;  // by group of the graph
  std::function<torch::Tensor(const ChunkForward&)> forward;
  std::function<void(int chunk, bool last)> before_backward;  // last: then its gradients are complete
  torch::Device device = torch::kCPU;                         // where tensors are received
  SpanNames* names = nullptr;
  Recorder* trace = nullptr;  // may be null
};

struct WalkResult {
  double loss = 0;                  // the mean over micro-batches where this rank has the last chunk
  std::vector<StageWork> executed;  // in order
};

WalkResult walk_step(const WalkPlan& plan, const MicroBatches& batches, const MicroBatchLoss& loss);

}  // namespace gradwire

// Walks one rank's tasks of a step graph: computes, receives ahead of what needs it, sends behind what made it. What the
// graph says of collectives and updates is done by whoever wraps a chunk (its gradients are averaged inside the last
// backward) and by the optimizer after the step. Belongs to one thread.
#pragma once

#include <torch/torch.h>

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
  // Where dropout begins in each forward, whichever rank does it; unset: where torch's generator stands.
  std::optional<std::uint64_t> seed = {};
};

using MicroBatchLoss = std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& target)>;

struct TensorShape {
  std::vector<std::int64_t> sizes;
  torch::ScalarType type = torch::kFloat32;
  torch::Tensor make() const { return torch::empty(sizes, torch::TensorOptions().dtype(type)); }
  Bytes bytes() const;
};

// Names of spans, which outlive the recorder that points to them.
class SpanNames {
 public:
  const char* of(const std::string& name);

 private:
  std::map<std::string, std::unique_ptr<std::string>> names_;
};

// What stays the same from step to step. Everything is borrowed.
struct WalkPlan {
  Rank rank = 0;  // in the graph
  const StepGraph* graph = nullptr;
  const std::vector<TensorShape>* shapes = nullptr;                        // of each chunk's output
  const std::map<int, std::unique_ptr<Communicator>>* channels = nullptr;  // by group of the graph
  // A chunk's forward; `last`: its gradients are complete after the backward that belongs to it.
  std::function<torch::Tensor(int chunk, const torch::Tensor& input, bool last)> forward;
  SpanNames* names = nullptr;
  Recorder* trace = nullptr;  // may be null
};

struct WalkResult {
  double loss = 0;                  // the mean over micro-batches where this rank has the last chunk
  std::vector<StageWork> executed;  // in order
};

WalkResult walk_step(const WalkPlan& plan, const MicroBatches& batches, const MicroBatchLoss& loss);

}  // namespace gradwire

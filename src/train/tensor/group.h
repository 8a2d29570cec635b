// Ranks that hold one model's layers together: tensor parallelism after Megatron-LM (Shoeybi et al. 2019), with
// sequence parallelism (Korthikanti et al. 2022).
//
//   auto own = gradwire::subset(world, {0, 1}, "tp");
//   auto communicator = gradwire::make_communicator(own);
//   gradwire::TensorGroup group(*communicator, {.sequence_parallel = true});
//   attention->split(group);                   // this rank's heads alone are left
//
// Every rank of a group has the same inputs, calls the same layers in the same order and calls backward alike. A
// layer's weights are those of the unsplit layer, cut up, and its gradients are those of the unsplit layer's.
// Where a tensor is the same on every rank so is what drops out of it, when the ranks' generators have one seed;
// where ranks hold different parts they draw apart. Belongs to the thread that trains; the communicator is
// borrowed, in host memory, and outlives the group, which outlives the layers.
#pragma once

#include "comm/communicator.h"
#include "trace/recorder.h"

namespace gradwire {

struct TensorGroupOptions {
  // What lies between the cut layers (norms, dropout, residuals) is split along the sequence, the last dimension
  // but one: it takes 1/n of the memory, and an all-reduce becomes a reduce-scatter and an all-gather.
  bool sequence_parallel = false;
};

class TensorGroup {
 public:
  explicit TensorGroup(Communicator& communicator, const TensorGroupOptions& options = {})
      : communicator_(communicator), options_(options) {}
  TensorGroup(const TensorGroup&) = delete;
  TensorGroup& operator=(const TensorGroup&) = delete;

  Rank rank() const { return communicator_.rank(); }
  int size() const { return communicator_.size(); }
  bool sequence_parallel() const { return options_.sequence_parallel; }
  void set_trace(Recorder* trace) { trace_ = trace; }  // borrowed; takes down every call

  // Blocks. `name` outlives the recorder.
  void run(const Call& call, const char* name) {
    const Timed timed(size() > 1 ? trace_ : nullptr, SpanKind::wait, name);
    communicator_.run(call);
  }

 private:
  Communicator& communicator_;
  const TensorGroupOptions options_;
  Recorder* trace_ = nullptr;
};

}  // namespace gradwire

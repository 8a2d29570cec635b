// What happens to a bucket of gradients between backward and the optimizer, if not a plain average:
// compression, gossip, whatever a user writes. Every rank uses the same hook with the same settings.
//
// start() is called for the buckets in their order, the moment each is ready, in the thread of backward; it
// should start communication and return. finish() is called for the buckets in the same order when backward
// has ended; when it returns, bucket.flat holds the result, which is each parameter's gradient.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "comm/communicator.h"

namespace gradwire {

struct GradBucket {
  int index = 0;
  torch::Tensor flat;  // one-dimensional, in the communicator's memory; what gradients are views of
  std::vector<torch::Tensor> gradients;  // the views, shaped as their parameters
  std::span<const int> parameters;       // whose they are: numbers among those that want gradients
  bool last = false;                     // of this backward
};

class BucketWork {
 public:
  virtual ~BucketWork() = default;
  virtual void finish() = 0;  // throws what went wrong
  // When the communication ran, after finish() and where the backend knows.
  virtual std::optional<WorkTimes> times() const = 0;
};

class CommHook {
 public:
  virtual ~CommHook() = default;
  virtual std::unique_ptr<BucketWork> start(const GradBucket&, Communicator&) = 0;
};

// What a hook keeps from step to step, by names of its own: saved with a model (loop/checkpoint.h), it goes on to the bit.
struct HookState {
  std::map<std::string, torch::Tensor> shared;  // the same on every rank
  std::map<std::string, torch::Tensor> own;     // of this rank; of any other number of ranks, the mean of all
};

// A hook that keeps something. Both between steps, by the thread that trains.
class KeepingHook : public CommHook {
 public:
  virtual HookState state() const = 0;               // borrowed until the next backward
  virtual void restore(const HookState& state) = 0;  // throws ConfigError for what was saved by another hook
};

// The plain average, in place: what happens without a hook.
std::shared_ptr<CommHook> make_average_hook();

// Gradients travel as 16-bit floats: half the bytes of float32. Averages are rounded to that type; what is
// 16-bit already travels as it is. fp16 saturates above 65504 where bf16 keeps float32's range.
std::shared_ptr<CommHook> make_fp16_hook();
std::shared_ptr<CommHook> make_bf16_hook();

// PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019): every matrix travels as the product of two thin ones,
// and what that leaves out is added to the next step's gradient. Lossy; ranks still hold identical gradients. A hook serves
// one DistributedDataParallel.
struct PowerSgdOptions {
  int rank = 2;                // columns of the thin matrices
  int start_step = 10;         // plain averages before, while gradients change fast
  double min_compression = 2;  // matrices that would not shrink by this factor travel as they are
  std::uint64_t seed = 1;      // of the first guess; the same on every rank
};
std::shared_ptr<KeepingHook> make_power_sgd_hook(const PowerSgdOptions& = {});

}  // namespace gradwire

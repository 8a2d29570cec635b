#include "train/job/learning.h"

#include <algorithm>

#include "base/error.h"
#include "train/loop/optimizer_state.h"
#include "train/precision/master_weights.h"

namespace gradwire {
namespace {

std::shared_ptr<CommHook> make_hook(Compression compress) {
  switch (compress) {
    case Compression::none:
      return nullptr;
    case Compression::fp16:
      return make_fp16_hook();
    case Compression::bf16:
      return make_bf16_hook();
    case Compression::powersgd:
      return make_power_sgd_hook();
  }
  throw Error("bug in gradwire: a compression of no kind");
}

Bytes mib(double count) { return static_cast<Bytes>(count * (1 << 20)); }

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainOptions& options,
                                                        const std::vector<torch::Tensor>& parameters) {
  if (options.optimizer == OptimizerKind::adamw)
    return std::make_unique<torch::optim::AdamW>(parameters,
                                                 torch::optim::AdamWOptions(options.learning_rate));
  return std::make_unique<torch::optim::SGD>(parameters,
                                             torch::optim::SGDOptions(options.learning_rate).momentum(0.9));
}

}  // namespace

torch::ScalarType learnt_type(const TrainOptions& options) {
  return options.precision == Precision::fp64 ? torch::kFloat64 : torch::kFloat32;
}

torch::ScalarType asked_type(const TrainOptions& options) {
  if (!is_mixed(options.precision)) return learnt_type(options);
  return options.precision == Precision::bf16 ? torch::kBFloat16 : torch::kFloat16;
}

torch::ScalarType compute_type(const TrainOptions& options, torch::Device device) {
  const auto asked = asked_type(options);
  if (asked != torch::kFloat16 || can_compute(asked, device)) return asked;
  if (options.shard > 0)
    throw ConfigError(fmt::format(
        "--precision fp16 with --shard: this libtorch can't multiply float16 matrices on {}; write bf16",
        device.str()));
  return torch::kFloat32;
}

DdpOptions ddp_options(const TrainOptions& options, torch::Device device) {
  DdpOptions made;
  made.first_bucket_bytes = mib(std::min(options.first_bucket_mb, options.bucket_mb));
  made.bucket_bytes = mib(options.bucket_mb);
  made.device = device;
  made.overlap = options.overlap;
  made.hook = make_hook(options.compress);
  // Where a CPU computes float16 in float32, its gradients still travel as float16.
  if (options.precision == Precision::fp16 && !made.hook && compute_type(options, device) == torch::kFloat32)
    made.hook = make_fp16_hook();
  return made;
}

ReplicaOptions replica_options(const TrainOptions& options, torch::Device device) {
  ReplicaOptions made{.ddp = ddp_options(options, device), .shard = options.shard};
  if (is_mixed(options.precision)) made.precision = asked_type(options);
  return made;
}

Learner::Learner(const TrainOptions& options, std::vector<torch::Tensor> parameters, Communicator& everybody)
    : parameters_(std::move(parameters)), optimizer_(make_optimizer(options, parameters_)) {
  if (options.precision == Precision::fp16) scaler_.emplace(everybody);
}

void Learner::step(const std::function<void()>& clip) {
  if (!scaler_) {
    clip();
    optimizer_->step();
    return;
  }
  scaler_->unscale(*optimizer_);
  clip();
  scaler_->step(*optimizer_);
  scaler_->update();
}

Bytes Learner::bytes() const {
  std::vector<NamedTensor> named;
  for (const auto& parameter : parameters_) named.push_back({"p" + std::to_string(named.size()), parameter});
  Bytes bytes = 0;
  for (const auto& [name, tensor] : optimizer_tensors(*optimizer_, named))
    if (tensor.dim() > 0) bytes += static_cast<Bytes>(tensor.nbytes());
  return bytes;
}

}  // namespace gradwire

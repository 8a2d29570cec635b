#include "train/job/trained_model.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "train/ddp.h"
#include "train/loop/optimizer_state.h"
#include "train/precision/grad_scaler.h"
#include "train/precision/master_weights.h"
#include "train/sharded/shard_checkpoint.h"
#include "train/sharded/sharded.h"

namespace gradwire {
namespace {

torch::ScalarType asked_type(const std::string& precision) {
  if (precision == "fp64") return torch::kFloat64;
  if (precision == "bf16") return torch::kBFloat16;
  return precision == "fp16" ? torch::kFloat16 : torch::kFloat32;
}

bool is_mixed(const std::string& precision) { return precision == "bf16" || precision == "fp16"; }

std::shared_ptr<CommHook> make_hook(const std::string& compress) {
  if (compress == "fp16") return make_fp16_hook();
  if (compress == "bf16") return make_bf16_hook();
  return compress == "powersgd" ? make_power_sgd_hook() : nullptr;
}

Overlap overlap_named(const std::string& name) {
  if (name == "during") return Overlap::during_backward;
  return name == "after" ? Overlap::after_backward : Overlap::automatic;
}

Bytes mib(double count) { return static_cast<Bytes>(count * (1 << 20)); }

}  // namespace

DdpOptions ddp_options(const TrainOptions& options, torch::Device device) {
  DdpOptions made;
  made.first_bucket_bytes = mib(std::min(options.first_bucket_mb, options.bucket_mb));
  made.bucket_bytes = mib(options.bucket_mb);
  made.device = device;
  made.overlap = overlap_named(options.overlap);
  made.hook = make_hook(options.compress);
  // Where a CPU computes float16 in float32, its gradients still travel as float16.
  if (options.precision == "fp16" && !made.hook && compute_type(options, device) == torch::kFloat32)
    made.hook = make_fp16_hook();
  return made;
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainOptions& options,
                                                        const std::vector<torch::Tensor>& parameters) {
  if (options.optimizer == "adamw")
    return std::make_unique<torch::optim::AdamW>(parameters,
                                                 torch::optim::AdamWOptions(options.learning_rate));
  return std::make_unique<torch::optim::SGD>(parameters,
                                             torch::optim::SGDOptions(options.learning_rate).momentum(0.9));
}

Bytes bytes_of_state(torch::optim::Optimizer& optimizer, const std::vector<torch::Tensor>& parameters) {
  std::vector<NamedTensor> named;
  for (const auto& parameter : parameters) named.push_back({"p" + std::to_string(named.size()), parameter});
  Bytes bytes = 0;
  for (const auto& [name, tensor] : optimizer_tensors(optimizer, named))
    if (tensor.dim() > 0) bytes += static_cast<Bytes>(tensor.nbytes());
  return bytes;
}

namespace {

std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> result;
  for (const auto& tensor : tensors) result.push_back(tensor.detach().clone());
  return result;
}

// The weights before the model was made narrower.
struct NarrowedModel {
  std::vector<torch::Tensor> values;
  std::shared_ptr<Net> model;
};

NarrowedModel narrowed(std::shared_ptr<Net> model, const TrainOptions& options, torch::Device device) {
  model->to(device);
  NarrowedModel made{is_mixed(options.precision) ? copies(model->parameters()) : std::vector<torch::Tensor>(),
                     model};
  model->to(compute_type(options, device));
  return made;
}

template <typename Call>
auto without_learning(torch::nn::Module& model, const Call& call) {
  const torch::NoGradGuard no_grad;
  model.eval();
  auto result = call();
  model.train();
  return result;
}

// Every rank has the whole model.
class Replicated final : public TrainedModel {
 public:
  Replicated(NarrowedModel narrow, Communicator& communicator, const TrainOptions& options,
             torch::Device device)
      : ddp_(std::move(narrow.model), communicator, ddp_options(options, device)) {
    if (is_mixed(options.precision))
      masters_.emplace(ddp_.parameters(), std::move(narrow.values), asked_type(options.precision));
    if (options.precision == "fp16") scaler_.emplace(communicator);
    optimizer_ = make_optimizer(options, learnt());
  }

  torch::Tensor forward(const torch::Tensor& input, bool sends) override {
    if (sends) return ddp_.forward(input);
    const auto quiet = ddp_.no_sync();
    return ddp_.forward(input);
  }

  void backward(const torch::Tensor& loss) override { (scaler_ ? scaler_->scale(loss) : loss).backward(); }

  void step(double clip) override {
    if (masters_) masters_->take_gradients();
    if (scaler_) scaler_->unscale(*optimizer_);
    if (clip > 0 && masters_)
      torch::nn::utils::clip_grad_norm_(masters_->parameters(), clip);
    else if (clip > 0)
      ddp_.clip_grad_norm(clip);
    if (scaler_) {
      scaler_->step(*optimizer_);
      scaler_->update();
    } else {
      optimizer_->step();
    }
    if (masters_) masters_->give_back();
    ddp_.zero_grad();
  }

  torch::Tensor predict(const torch::Tensor& input) override {
    return without_learning(*ddp_.module(), [&] { return ddp_.module()->forward(input); });
  }

  void describe(TrainResult& result) const override {
    for (const auto& parameter : ddp_.parameters()) {
      result.parameters += parameter.numel();
      result.gradient_bytes += parameter.nbytes();
    }
    result.buckets = static_cast<int>(ddp_.buckets().size());
    result.held = {.parameters = result.gradient_bytes,
                   .gradients = result.gradient_bytes,
                   .optimizer = bytes_of_state(*optimizer_, learnt())};
    if (masters_)
      for (const auto& master : masters_->parameters())
        result.held.parameters += 2 * static_cast<Bytes>(master.nbytes());
    result.skipped_steps = scaler_ ? scaler_->state().skipped() : 0;
  }

  void set_trace(Recorder* trace) override { ddp_.set_trace(trace); }

  TrainingState state() override {
    TrainingState state{tensors_of_model(*ddp_.module()), optimizer_.get()};
    if (masters_)
      for (std::size_t i = 0; i < state.model.parameters.size(); ++i)
        state.model.parameters[i].tensor = masters_->parameters()[i];
    return state;
  }

  TrainingPosition load(const std::filesystem::path& path, Communicator& host, Unchecked unchecked) override {
    const auto position = load_checkpoint(path, state(), host, unchecked);
    if (masters_) masters_->give_back();
    return position;
  }

 private:
  std::vector<torch::Tensor> learnt() const { return masters_ ? masters_->parameters() : ddp_.parameters(); }

  DistributedDataParallel<Net> ddp_;
  std::optional<MasterWeights> masters_;
  std::optional<GradScaler> scaler_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

ShardOptions shard_options(const TrainOptions& options, torch::Device device) {
  ShardOptions made;
  made.stage = options.shard;
  made.device = device;
  if (is_mixed(options.precision)) made.compute_type = asked_type(options.precision);
  return made;
}

// Every rank has a share of it.
class SharedOut final : public TrainedModel {
 public:
  SharedOut(std::shared_ptr<Net> model, Communicator& communicator, const TrainOptions& options,
            torch::Device device)
      : parameters_(count(*model)),
        whole_bytes_(parameters_ * torch::elementSize(compute_type(options, device))),
        sharded_(std::move(model), communicator, shard_options(options, device)),
        optimizer_(make_optimizer(options, sharded_.parameters())) {
    if (options.precision == "fp16") scaler_.emplace(communicator);
  }

  torch::Tensor forward(const torch::Tensor& input, bool sends) override {
    if (sends)
      quiet_.reset();
    else if (!quiet_)
      quiet_.reset(new ShardedNoSync(sharded_.no_sync()));
    return sharded_.forward(input);
  }

  void backward(const torch::Tensor& loss) override { (scaler_ ? scaler_->scale(loss) : loss).backward(); }

  void step(double clip) override {
    if (scaler_) scaler_->unscale(*optimizer_);
    if (clip > 0) sharded_.clip_grad_norm(clip);
    if (scaler_) {
      scaler_->step(*optimizer_);
      scaler_->update();
    } else {
      optimizer_->step();
    }
    sharded_.zero_grad();
  }

  torch::Tensor predict(const torch::Tensor& input) override {
    return without_learning(*sharded_.module(), [&] { return sharded_.forward(input); });
  }

  void describe(TrainResult& result) const override {
    const auto memory = sharded_.memory();
    result.parameters = parameters_;
    result.gradient_bytes = whole_bytes_;
    result.buckets = static_cast<int>(sharded_.units().size());
    result.held = {.parameters = memory.parameters,
                   .gathered = memory.gathered,
                   .gradients = memory.gradients,
                   .optimizer = bytes_of_state(*optimizer_, sharded_.parameters())};
    result.skipped_steps = scaler_ ? scaler_->state().skipped() : 0;
  }

  void set_trace(Recorder* trace) override { sharded_.set_trace(trace); }
  TrainingState state() override { return sharded_state(sharded_.core(), optimizer_.get()); }
  TrainingPosition load(const std::filesystem::path& path, Communicator& host, Unchecked unchecked) override {
    return load_checkpoint(path, sharded_.core(), optimizer_.get(), host, unchecked);
  }

 private:
  static std::int64_t count(const torch::nn::Module& model) {
    std::int64_t elements = 0;
    for (const auto& parameter : model.parameters()) elements += parameter.numel();
    return elements;
  }

  const std::int64_t parameters_;
  const Bytes whole_bytes_;
  ShardedDataParallel<Net> sharded_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::optional<GradScaler> scaler_;
  std::unique_ptr<ShardedNoSync> quiet_;
};

}  // namespace

torch::ScalarType compute_type(const TrainOptions& options, torch::Device device) {
  const auto asked = asked_type(options.precision);
  if (asked != torch::kFloat16 || can_compute(asked, device)) return asked;
  if (options.shard > 0)
    throw ConfigError(fmt::format(
        "--precision fp16 with --shard: this libtorch can't multiply float16 matrices on {}; write bf16",
        device.str()));
  return torch::kFloat32;
}

std::unique_ptr<TrainedModel> make_trained_model(std::shared_ptr<Net> model, Communicator& communicator,
                                                 const TrainOptions& options, torch::Device device) {
  if (options.shard == 0)
    return std::make_unique<Replicated>(narrowed(std::move(model), options, device), communicator, options,
                                        device);
  compute_type(options, device);  // refuses
  model->to(device, options.precision == "fp64" ? torch::kFloat64 : torch::kFloat32);
  return std::make_unique<SharedOut>(std::move(model), communicator, options, device);
}

}  // namespace gradwire

#include "train/job/trained_model.h"

#include <optional>

#include "train/ddp.h"
#include "train/job/learning.h"
#include "train/precision/master_weights.h"
#include "train/sharded/shard_checkpoint.h"
#include "train/sharded/sharded.h"

namespace gradwire {
namespace {

// What both kinds do with a model whose forward one rank can run: micro-batches one after another.
class RunsAlone : public TrainedModel {
 public:
  double learn(const StepData& data) override {
    double loss = 0;
    for (int micro = 0; micro < data.micro_batches; ++micro) loss += learn_from(data, micro);
    return loss;
  }

  Answers test(const Batch& batch) override {
    const torch::NoGradGuard no_grad;
    module().eval();
    const auto logits = predict(batch.input);
    module().train();
    return {logits.argmax(-1), loss_of(logits, batch.target).item<double>()};
  }

 protected:
  // Logits. `sends`: the backward of this forward is the step's last, others only add up.
  virtual torch::Tensor forward(const torch::Tensor& input, bool sends) = 0;
  virtual torch::Tensor predict(const torch::Tensor& input) = 0;
  virtual torch::nn::Module& module() = 0;
  virtual const Learner& learner() const = 0;
  Recorder* trace_ = nullptr;

 private:
  double learn_from(const StepData& data, int micro) {
    const auto batch = data.next(micro);
    torch::Tensor loss;
    {
      const Timed timed(trace_, SpanKind::forward);
      const bool last = micro + 1 == data.micro_batches;
      loss = loss_of(forward(batch.input, last), batch.target) / data.micro_batches;
    }
    {
      const Timed timed(trace_, SpanKind::backward);
      learner().scaled(loss).backward();
    }
    return loss.item<double>();
  }
};

// The weights before the model was made narrower.
struct NarrowedModel {
  std::vector<torch::Tensor> values;
  std::shared_ptr<Net> model;
};

NarrowedModel narrowed(std::shared_ptr<Net> model, const TrainOptions& options, torch::Device device) {
  model->to(device);
  NarrowedModel made{{}, model};
  if (is_mixed(options.precision))
    for (const auto& parameter : model->parameters()) made.values.push_back(parameter.detach().clone());
  model->to(compute_type(options, device));
  return made;
}

// Every rank has the whole model.
class Replicated final : public RunsAlone {
 public:
  Replicated(NarrowedModel narrow, Communicator& communicator, const TrainOptions& options,
             const DdpOptions& ddp)
      : hook_(std::dynamic_pointer_cast<KeepingHook>(ddp.hook)),
        ddp_(std::move(narrow.model), communicator, ddp) {
    if (is_mixed(options.precision))
      masters_.emplace(ddp_.parameters(), std::move(narrow.values), asked_type(options));
    learner_.emplace(options, masters_ ? masters_->parameters() : ddp_.parameters(), communicator);
  }

  void update(double clip) override {
    if (masters_) masters_->take_gradients();
    learner_->step([&] {
      if (clip > 0 && masters_)
        torch::nn::utils::clip_grad_norm_(masters_->parameters(), clip);
      else if (clip > 0)
        ddp_.clip_grad_norm(clip);
    });
    if (masters_) masters_->give_back();
    ddp_.zero_grad();
  }

  void describe(TrainResult& result) const override {
    for (const auto& parameter : ddp_.parameters()) {
      result.parameters += parameter.numel();
      result.gradient_bytes += parameter.nbytes();
    }
    result.buckets = static_cast<int>(ddp_.buckets().size());
    result.held = {.parameters = result.gradient_bytes,
                   .gradients = result.gradient_bytes,
                   .optimizer = learner_->bytes()};
    if (masters_)
      for (const auto& master : masters_->parameters())
        result.held.parameters += 2 * static_cast<Bytes>(master.nbytes());
    result.skipped_steps = learner_->skipped();
  }

  void set_trace(Recorder* trace) override {
    trace_ = trace;
    ddp_.set_trace(trace);
  }

  TrainingState state() override {
    TrainingState state{
        .model = tensors_of_model(*ddp_.module()), .optimizer = &learner_->optimizer(), .hook = hook_.get()};
    if (masters_)
      for (std::size_t i = 0; i < state.model.parameters.size(); ++i)
        state.model.parameters[i].tensor = masters_->parameters()[i];
    return state;
  }

  LossScale* loss_scale() override { return learner_->loss_scale(); }
  std::vector<std::string> gradient_order() const override { return ddp_.gradient_order(); }

  TrainingPosition load(const std::filesystem::path& path, Communicator& host, Unchecked unchecked) override {
    const auto position = load_checkpoint(path, state(), host, unchecked);
    if (masters_) masters_->give_back();
    ddp_.restore_gradient_order(position.gradient_order);
    return position;
  }

 private:
  torch::Tensor forward(const torch::Tensor& input, bool sends) override {
    if (sends) return ddp_.forward(input);
    const auto quiet = ddp_.no_sync();
    return ddp_.forward(input);
  }
  torch::Tensor predict(const torch::Tensor& input) override { return ddp_.module()->forward(input); }
  torch::nn::Module& module() override { return *ddp_.module(); }
  const Learner& learner() const override { return *learner_; }

  const std::shared_ptr<KeepingHook> hook_;  // null where gradients travel as they are, or only narrower
  DistributedDataParallel<Net> ddp_;
  std::optional<MasterWeights> masters_;
  std::optional<Learner> learner_;
};

ShardOptions shard_options(const TrainOptions& options, torch::Device device) {
  ShardOptions made;
  made.stage = options.shard;
  made.device = device;
  if (is_mixed(options.precision)) made.compute_type = asked_type(options);
  return made;
}

// Every rank has a share of it.
class SharedOut final : public RunsAlone {
 public:
  SharedOut(std::shared_ptr<Net> model, Communicator& communicator, const TrainOptions& options,
            torch::Device device)
      : parameters_(count(*model)),
        whole_bytes_(parameters_ * torch::elementSize(compute_type(options, device))),
        sharded_(std::move(model), communicator, shard_options(options, device)),
        learner_(options, sharded_.parameters(), communicator) {}

  void update(double clip) override {
    learner_.step([&] {
      if (clip > 0) sharded_.clip_grad_norm(clip);
    });
    sharded_.zero_grad();
  }

  void describe(TrainResult& result) const override {
    const auto memory = sharded_.memory();
    result.parameters = parameters_;
    result.gradient_bytes = whole_bytes_;
    result.buckets = static_cast<int>(sharded_.units().size());
    result.held = {.parameters = memory.parameters,
                   .gathered = memory.gathered,
                   .gradients = memory.gradients,
                   .optimizer = learner_.bytes()};
    result.skipped_steps = learner_.skipped();
  }

  void set_trace(Recorder* trace) override {
    trace_ = trace;
    sharded_.set_trace(trace);
  }
  TrainingState state() override { return sharded_state(sharded_.core(), &learner_.optimizer()); }
  LossScale* loss_scale() override { return learner_.loss_scale(); }
  std::vector<std::string> gradient_order() const override { return {}; }
  TrainingPosition load(const std::filesystem::path& path, Communicator& host, Unchecked unchecked) override {
    return load_checkpoint(path, sharded_.core(), &learner_.optimizer(), host, unchecked);
  }

 private:
  static std::int64_t count(const torch::nn::Module& model) {
    std::int64_t elements = 0;
    for (const auto& parameter : model.parameters()) elements += parameter.numel();
    return elements;
  }

  torch::Tensor forward(const torch::Tensor& input, bool sends) override {
    if (sends)
      quiet_.reset();
    else if (!quiet_)
      quiet_.reset(new ShardedNoSync(sharded_.no_sync()));
    return sharded_.forward(input);
  }
  torch::Tensor predict(const torch::Tensor& input) override { return sharded_.forward(input); }
  torch::nn::Module& module() override { return *sharded_.module(); }
  const Learner& learner() const override { return learner_; }

  const std::int64_t parameters_;
  const Bytes whole_bytes_;
  ShardedDataParallel<Net> sharded_;
  Learner learner_;
  std::unique_ptr<ShardedNoSync> quiet_;
};

}  // namespace

std::unique_ptr<TrainedModel> make_trained_model(std::shared_ptr<Net> model, Communicator& communicator,
                                                 const TrainOptions& options, torch::Device device) {
  if (options.shard == 0)
    return std::make_unique<Replicated>(narrowed(std::move(model), options, device), communicator, options,
                                        ddp_options(options, device));
  compute_type(options, device);  // refuses
  model->to(device, learnt_type(options));
  return std::make_unique<SharedOut>(std::move(model), communicator, options, device);
}

}  // namespace gradwire

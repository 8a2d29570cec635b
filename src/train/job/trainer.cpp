#include "train/job/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "comm/make.h"
#include "train/job/mesh_options.h"
#include "train/loop/gather_timeline.h"
#include "train/loop/sampler.h"
#include "train/loop/seed.h"

namespace gradwire {
namespace {

torch::ScalarType type_named(const std::string& name) {
  return name == "fp64" ? torch::kFloat64 : name == "bf16" ? torch::kBFloat16 : torch::kFloat32;
}

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

// GPUs where there is one for every rank of this host and nobody asked for something else.
bool takes_gpus(const World& world, const std::string& backend) {
  if (backend.starts_with("nccl")) return true;
  return backend == "auto" && torch::cuda::is_available() &&
         static_cast<int>(torch::cuda::device_count()) >= world.local_size;
}

DdpOptions ddp_options(const TrainOptions& options, torch::Device device) {
  DdpOptions made;
  made.first_bucket_bytes = mib(std::min(options.first_bucket_mb, options.bucket_mb));
  made.bucket_bytes = mib(options.bucket_mb);
  made.device = device;
  made.overlap = overlap_named(options.overlap);
  made.hook = make_hook(options.compress);
  return made;
}

}  // namespace

Trainer::Trainer(const World& world, const TrainOptions& options)
    : world_(world),
      options_(options),
      entry_(find_trainable(options.model)),
      type_(type_named(options.precision)),
      mesh_(mesh_of(options, world.size)),
      place_(place_of(mesh_, world.rank)),
      data_(make_data(entry_, {.real = options.data == "real",
                               .text = options.text,
                               .sequence = options.sequence,
                               .image = options.image,
                               .seed = options.seed})) {
  make_communicators();
  seed_all(options.seed);
  make_wrapper(make_model(entry_, options.sync_batch_norm ? communicator_.get() : nullptr));
  make_optimizer();
  if (!options.resume.empty())
    first_step_ =
        static_cast<int>(load_checkpoint(options.resume, state(), *host_,
                                         options.resume_unchecked ? Unchecked::accept : Unchecked::refuse)
                             .step);
  make_recorder();
}

void Trainer::make_communicators() {
  const bool gpus = takes_gpus(world_, options_.backend) && !uses_mesh(options_);
  if (gpus) device_ = torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(world_.local_rank));
  const bool apart = options_.backend == "none";
  if (apart)
    communicator_ = make_communicator(subset(world_, {world_.rank}, "apart"));
  else
    communicator_ = make_communicator(world_, gpus && options_.backend == "auto" ? "nccl" : options_.backend);
  World host = world_;
  host.name = "train-host";
  if (gpus || apart) host_communicator_ = make_communicator(host, "auto");
  host_ = host_communicator_ ? host_communicator_.get() : communicator_.get();
  if (uses_mesh(options_)) mesh_lines_ = describe_mesh(mesh_, options_.backend, hosts_of(host));
}

void Trainer::make_wrapper(std::shared_ptr<Net> model) {
  if (!uses_mesh(options_)) {
    model->to(device_, type_);
    ddp_.emplace(std::move(model), *communicator_, ddp_options(options_, device_));
    return;
  }
  auto options = mesh_model_options(options_, mesh_);
  options.type = type_;
  options.data = ddp_options(options_, device_);
  cut_ = std::make_unique<MeshModel>(world_, std::move(model), next_batch(0).input, options);
}

std::vector<torch::Tensor> Trainer::parameters() const {
  return cut_ ? cut_->pipeline().parameters() : ddp_->parameters();
}

void Trainer::make_optimizer() {
  if (options_.optimizer == "adamw")
    optimizer_ = std::make_unique<torch::optim::AdamW>(parameters(),
                                                       torch::optim::AdamWOptions(options_.learning_rate));
  else
    optimizer_ = std::make_unique<torch::optim::SGD>(
        parameters(), torch::optim::SGDOptions(options_.learning_rate).momentum(0.9));
}

// Room for every span of the run up to 131072, which is 9 MB: of longer runs the first steps are recorded.
// Buckets may become a few more when they are rebuilt.
void Trainer::make_recorder() {
  std::size_t a_micro_batch = 4, buckets = 0;
  if (cut_) {  // a forward and a backward have messages, and collectives for each layer
    a_micro_batch += static_cast<std::size_t>(8 * options_.virtual_stages +
                                              (mesh_.tp > 1 ? 24 * (entry_.shape.layers + 2) : 0));
    buckets = static_cast<std::size_t>(cut_->pipeline().buckets());
  } else {
    buckets = ddp_->buckets().size();
  }
  const std::size_t a_step = 8 + a_micro_batch * static_cast<std::size_t>(options_.accumulate) + 2 * buckets;
  recorder_ = std::make_unique<Recorder>(
      std::min<std::size_t>(1 << 17, a_step * static_cast<std::size_t>(options_.steps)));
  set_trace(recorder_.get());
  clock_ = align_clocks(*host_);
}

void Trainer::set_trace(Recorder* trace) {
  if (cut_)
    cut_->set_trace(trace);
  else
    ddp_->set_trace(trace);
}

TrainingState Trainer::state() {
  if (cut_)  // of one rank a model: a name a parameter, as in the whole
    return {{cut_->pipeline().named_parameters(), cut_->pipeline().named_buffers()}, optimizer_.get()};
  return {tensors_of_model(*ddp_->module()), optimizer_.get()};
}

TrainResult Trainer::describe() const {
  TrainResult result;
  for (const auto& parameter : parameters()) {
    result.parameters += parameter.numel();
    result.gradient_bytes += parameter.nbytes();
  }
  if (cut_) describe_mesh_of(result);
  result.ranks = world_.size;
  result.threads = torch::get_num_threads();
  result.buckets = cut_ ? cut_->pipeline().buckets() : static_cast<int>(ddp_->buckets().size());
  result.backend = options_.backend == "none" ? "none" : communicator_->name();
  result.data = data_.what;
  result.first_step = first_step_;
  return result;
}

void Trainer::describe_mesh_of(TrainResult& result) const {
  result.parameters = cut_->parameters();
  result.model_ranks = mesh_.tp * mesh_.pp;
  result.mesh = mesh_lines_;
  if (mesh_.pp > 1) result.mesh.push_back("stages: " + cut_->stages());
}

// Batches are numbered through all epochs, so that a resumed run sees those it would have seen.
Batch Trainer::next_batch(std::int64_t number) {
  DistributedSampler sampler(data_.train->size(),
                             {.rank = place_.data, .ranks = mesh_.dp, .seed = options_.seed});
  const std::int64_t batch = options_.batch, per_epoch = std::max<std::int64_t>(1, sampler.size() / batch);
  if (number / per_epoch != epoch_) {
    epoch_ = number / per_epoch;
    sampler.set_epoch(epoch_);
    indices_ = sampler.indices();
  }
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < batch; ++i)
    chosen.push_back(indices_[static_cast<std::size_t>(number % per_epoch * batch + i) % indices_.size()]);
  return place(data_.train->get(chosen));
}

double Trainer::train_micro_batch(int step, int micro) {
  Batch batch;
  torch::Tensor loss;
  {
    const Timed timed(recorder_.get(), SpanKind::data);
    batch = next_batch(std::int64_t{step} * options_.accumulate + micro);
  }
  {
    const Timed timed(recorder_.get(), SpanKind::forward);
    loss = loss_of(ddp_->forward(batch.input), batch.target) / options_.accumulate;
  }
  {
    const Timed timed(recorder_.get(), SpanKind::backward);
    loss.backward();
  }
  return loss.item<double>();
}

// Ranks that hold a model together read the same batches and draw the same dropout.
double Trainer::train_on_mesh(int step) {
  MicroBatches batches;
  batches.seed = options_.seed ^ static_cast<std::uint64_t>(step) << 32;
  {
    const Timed timed(recorder_.get(), SpanKind::data);
    for (int micro = 0; micro < options_.accumulate; ++micro) {
      auto batch = next_batch(std::int64_t{step} * options_.accumulate + micro);
      batches.inputs.push_back(std::move(batch.input));
      batches.targets.push_back(std::move(batch.target));
    }
  }
  return cut_->step(batches);
}

// Every step draws its dropout from a seed of its own, so that a resumed run draws what it would have drawn.
double Trainer::train_micro_batches(int step) {
  if (cut_) return train_on_mesh(step);
  seed_rank(options_.seed ^ static_cast<std::uint64_t>(step) << 32, world_.rank);
  double loss = 0;
  if (options_.accumulate > 1) {
    const auto quiet = ddp_->no_sync();
    for (int micro = 0; micro + 1 < options_.accumulate; ++micro) loss += train_micro_batch(step, micro);
  }
  return loss + train_micro_batch(step, options_.accumulate - 1);
}

Trainer::News Trainer::train_step(int step, int signal) {
  recorder_->set_step(step);
  const double loss = train_micro_batches(step);
  const News news = share_news(loss, signal);
  const Timed timed(recorder_.get(), SpanKind::optimizer);
  if (options_.clip > 0) clip();
  optimizer_->step();
  if (cut_)
    cut_->pipeline().zero_grad();
  else
    ddp_->zero_grad();
  return news;
}

void Trainer::clip() {
  if (cut_)
    cut_->clip_grad_norm(options_.clip, *host_);
  else
    ddp_->clip_grad_norm(options_.clip);
}

// Right after backward, where the ranks have met anyway: it costs a small message. Ranks apart stay apart.
Trainer::News Trainer::share_news(double loss, int signal) {
  if (options_.backend == "none" || world_.size == 1) return {loss, signal};
  const Timed timed(recorder_.get(), SpanKind::wait);
  std::array<double, 2> mine{loss, static_cast<double>(signal)};
  std::vector<double> all(2 * static_cast<std::size_t>(world_.size));
  host_->run(all_gather(bytes_of(mine), bytes_of(all), DType::f64));
  News news;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    news.loss += all[i] / (world_.size / mesh_.pp);  // of a pipeline the last stage alone has one
    news.signal = std::max(news.signal, static_cast<int>(all[i + 1]));
  }
  return news;
}

void Trainer::save(int step) {
  const Timed timed(recorder_.get(), SpanKind::other, "checkpoint");
  save_checkpoint(options_.checkpoint, state(), {.step = step, .epoch = epoch_}, *host_,
                  {.sharded = options_.sharded});
}

Batch Trainer::place(Batch batch) const {
  batch.input = batch.input.is_floating_point() ? batch.input.to(device_, type_) : batch.input.to(device_);
  batch.target = batch.target.to(device_);
  return batch;
}

void Trainer::train_steps(TrainResult& result, const TrainHooks& hooks) {
  for (int step = first_step_; step < options_.steps && result.interrupted_by == 0; ++step) {
    const Seconds begin = steady_now();
    const News news = train_step(step, hooks.asked_to_end ? hooks.asked_to_end() : 0);
    result.losses.push_back(news.loss);
    if (step + 1 < options_.steps) result.interrupted_by = news.signal;
    const bool due = options_.checkpoint_every > 0 && (step + 1) % options_.checkpoint_every == 0;
    const bool last = step + 1 == options_.steps || result.interrupted_by != 0;  // saved below
    if (!options_.checkpoint.empty() && due && !last) save(step + 1);
    if (hooks.on_step) hooks.on_step(step, news.loss, steady_now() - begin);
  }
}

// Of ranks that train apart, which have not told each other yet, and may have been ended after different
// steps.
void Trainer::average_losses(TrainResult& result) {
  if (options_.backend != "none") return;
  std::array<double, 1> count{static_cast<double>(result.losses.size())};
  host_->run(all_reduce(bytes_of(count), DType::f64, Reduction::min));
  result.losses.resize(static_cast<std::size_t>(count[0]));
  host_->run(all_reduce(bytes_of(result.losses), DType::f64, Reduction::avg));
}

TrainResult Trainer::train(const TrainHooks& hooks) {
  TrainResult result = describe();
  if (first_step_ >= options_.steps) {  // there is nothing left but to say how good it is
    evaluate(result);
    return result;
  }
  train_steps(result, hooks);
  set_trace(nullptr);
  average_losses(result);
  timeline_ = gather_timeline(*host_, *recorder_, clock_,
                              fmt::format("gradwire train {}, {}", options_.model, result.backend));
  if (result.model_ranks == 1) timeline_.samples = options_.batch * options_.accumulate;
  result.step = breakdown(timeline_);
  result.dropped_spans = recorder_->dropped();
  result.buckets = describe().buckets;
  if (mesh_.pp > 1)
    result.pipeline =
        measure_pipeline(timeline_, options_, {.step = first_step_, .complete = result.dropped_spans == 0});
  if (result.interrupted_by == 0) evaluate(result);
  // Last, so that a run that fails before this has something left to do when it is started again.
  if (!options_.checkpoint.empty()) save(first_step_ + static_cast<int>(result.losses.size()));
  return result;
}

}  // namespace gradwire

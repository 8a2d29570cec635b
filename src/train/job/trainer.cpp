#include "train/job/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/say.h"
#include "comm/make.h"
#include "train/job/learning.h"
#include "train/job/mesh_model.h"
#include "train/job/mesh_options.h"
#include "train/loop/gather_timeline.h"
#include "train/loop/seed.h"

namespace gradwire {
namespace {

// GPUs where there is one for every rank of this host and nobody asked for something else; of models that are cut only
// where they are asked for.
bool takes_gpus(const World& world, const TrainOptions& options) {
  if (moves_gpu_memory(options.backend.name)) return true;
  return options.backend.kind == TrainBackend::Kind::automatic && !uses_mesh(options) &&
         torch::cuda::is_available() && static_cast<int>(torch::cuda::device_count()) >= world.local_size;
}

// With the learning rate that --scale-lr asks for.
TrainOptions scaled(TrainOptions options, int replicas) {
  if (options.scale_lr) options.learning_rate *= replicas;
  return options;
}

}  // namespace

Trainer::Trainer(const World& world, const TrainOptions& options)
    : world_(world),
      options_(scaled(options, mesh_of(options, world.size).dp)),
      entry_(find_trainable(options.model)),
      mesh_(mesh_of(options, world.size)),
      data_(options, place_of(mesh_, world.rank).data, mesh_.dp) {
  if (rehearses(options)) rehearsal_.emplace();
  make_communicators();
  seed_all(options.seed);
  auto net = make_model(entry_, options.sync_batch_norm ? communicator_.get() : nullptr);
  data_.put_on(device_, compute_type(options, device_));
  model_ = uses_mesh(options) ? make_parts(std::move(net))
                              : make_trained_model(std::move(net), *communicator_, options_, device_);
  if (!options.resume.empty()) resume();
  make_recorder();
  if (!options.checkpoint.empty())
    saver_.emplace(options.checkpoint, *host_,
                   CheckpointOptions{.sharded = writes_parts(options), .keep = options.checkpoint_keep});
  saved_at_ = steady_now();
}

void Trainer::resume() {
  const auto position = model_->load(options_.resume, *host_,
                                     options_.resume_unchecked ? Unchecked::accept : Unchecked::refuse);
  if (position.step > std::numeric_limits<int>::max())
    throw ConfigError(fmt::format("--resume {}: it says to be of step {}, which no run here comes to",
                                  options_.resume, position.step));
  first_step_ = static_cast<int>(position.step);
  if (auto* const scale = model_->loss_scale(); scale != nullptr && position.loss_scale > 0)
    scale->restore(position.loss_scale, position.good_steps);
}

bool Trainer::is_apart() const { return options_.backend.is_none(); }

// Ranks that train models of their own are a mesh of one each.
std::unique_ptr<TrainedModel> Trainer::make_parts(std::shared_ptr<Net> net) {
  const bool apart = is_apart() && !rehearsal_;
  auto made = mesh_model_options(options_, apart ? Mesh{} : mesh_, device_);
  if (rehearsal_) made.wires = rehearsed(std::move(made.wires), *rehearsal_);
  auto model = std::make_unique<MeshModel>(apart ? subset(world_, {world_.rank}, "parts") : world_,
                                           std::move(net), data_.get(0).input, made);
  model->learn_by(options_);
  World hosts = world_;
  hosts.name = "train-mesh";
  if (!apart) links_ = describe_mesh(mesh_, rehearsal_ ? "nothing" : options_.backend.name, hosts_of(hosts));
  return model;
}

void Trainer::make_communicators() {
  const bool gpus = takes_gpus(world_, options_);
  if (gpus) device_ = torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(world_.local_rank));
  const bool apart = is_apart() && !rehearsal_;
  if (apart)
    communicator_ = make_communicator(subset(world_, {world_.rank}, "apart"));
  else if (rehearsal_)
    communicator_ = rehearsal_->among(make_communicator(world_), "world");
  else
    communicator_ = make_communicator(world_, gpus && options_.backend.kind == TrainBackend::Kind::automatic
                                                  ? "nccl"
                                                  : options_.backend.name);
  World host = world_;
  host.name = "train-host";
  if (gpus || apart) host_communicator_ = make_communicator(host, "auto");
  host_ = host_communicator_ ? host_communicator_.get() : communicator_.get();
}

// Room for every span of the run up to 131072, which is 9 MB: of longer runs the first steps are recorded.
void Trainer::make_recorder() {
  recorder_ = std::make_unique<Recorder>(
      std::min<std::size_t>(1 << 17, spans_a_step() * static_cast<std::size_t>(options_.steps)));
  model_->set_trace(recorder_.get());
  clock_ = align_clocks(*host_);
}

// Buckets may become a few more when they are rebuilt; a unit of sharded parameters is gathered twice in every
// micro-batch, reduced once, and waited for each time. Of a mesh also messages of each chunk and collectives of each
// layer.
std::size_t Trainer::spans_a_step() const {
  const auto parts = static_cast<std::size_t>(describe().buckets),
             micro = static_cast<std::size_t>(options_.accumulate);
  const int messages = uses_mesh(options_) ? 8 * options_.virtual_stages : 4,
            collectives = mesh_.tp > 1 ? 30 * (entry_.shape.layers + 2) : 0;
  const auto spans = 8 + micro * static_cast<std::size_t>(messages + collectives) +
                     (options_.shard > 0 ? 8 * micro : 2) * parts;
  return rehearsal_ ? 2 * spans : spans;  // a call beside each wait
}

TrainResult Trainer::describe() const {
  TrainResult result;
  result.mesh = links_;
  model_->describe(result);
  result.ranks = world_.size;
  result.threads = torch::get_num_threads();
  result.backend = is_apart() ? to_string(options_.backend) : communicator_->name();
  result.data = data_.what();
  result.first_step = first_step_;
  return result;
}

// Every step draws its dropout from a seed of its own, so that a resumed run draws what it would have drawn.
double Trainer::learn(int step) {
  const auto seed = options_.seed ^ static_cast<std::uint64_t>(step) << 32;
  seed_rank(seed, world_.rank);
  const auto next = [&](int micro) {
    const Timed timed(recorder_.get(), SpanKind::data);
    return data_.get(std::int64_t{step} * options_.accumulate + micro);
  };
  return model_->learn({.micro_batches = options_.accumulate, .next = next, .seed = seed});
}

// A rehearsal's first step is a real one: there ranks agree on shapes and orders.
Trainer::News Trainer::train_step(int step, int signal) {
  recorder_->set_step(step);
  std::optional<Rehearsal::Quiet> quiet;
  if (rehearsal_ && step > first_step_) quiet.emplace(*rehearsal_, recorder_.get());
  const double loss = learn(step);
  const News news = share_news(loss, signal);
  if (saver_) saver_->settle();
  const Timed timed(recorder_.get(), SpanKind::optimizer);
  model_->update(options_.clip);
  return news;
}

// Clocks differ, so one rank's counts.
bool Trainer::is_time_to_save() const {
  return world_.rank == 0 && options_.checkpoint_seconds > 0 &&
         steady_now() - saved_at_ >= options_.checkpoint_seconds;
}

// Right after backward, where the ranks have met anyway: it costs a small message. Ranks apart stay apart; what they
// rehearse tells them nothing.
Trainer::News Trainer::share_news(double loss, int signal) {
  if ((is_apart() && !rehearsal_) || world_.size == 1) return {loss, signal, is_time_to_save()};
  const Timed timed(recorder_.get(), SpanKind::wait);
  std::array<double, 3> mine{loss, static_cast<double>(signal), is_time_to_save() ? 1.0 : 0.0};
  std::vector<double> all(mine.size() * static_cast<std::size_t>(world_.size));
  host_->run(all_gather(bytes_of(mine), bytes_of(all), DType::f64));
  News news;
  for (std::size_t i = 0; i < all.size(); i += mine.size()) {
    news.loss += all[i] / (world_.size / mesh_.pp);  // of a pipeline the last stage alone has one
    news.signal = std::max(news.signal, static_cast<int>(all[i + 1]));
    news.save = news.save || all[i + 2] > 0;
  }
  return news;
}

void Trainer::save(int step) {
  const Timed timed(recorder_.get(), SpanKind::other, "checkpoint");
  TrainingPosition position{.step = step, .epoch = data_.epoch()};
  if (const auto* const scale = model_->loss_scale())
    position.loss_scale = scale->value(), position.good_steps = scale->good_steps();
  position.gradient_order = model_->gradient_order();
  saver_->save(model_->state(), position);
  saved_at_ = steady_now();
}

double Trainer::test(int number, Metrics& metrics) {
  const auto [batch, counts] = data_.test(number);
  const auto [classes, loss] = model_->test(batch);
  if (!counts || !classes.defined()) return 0;  // of a model of several ranks one speaks
  const auto asked = batch.target.ne(-100), right = classes.eq(batch.target).logical_and(asked);
  const double count = asked.sum().item<double>();
  metrics.add("loss", count > 0 ? loss : 0, count);
  metrics.add("accuracy", count > 0 ? right.sum().item<double>() / count : 0, count);
  return count;
}

// By which any rank was asked to end.
int Trainer::shared_signal(const TrainHooks& hooks) {
  std::array<double, 1> signal{hooks.asked_to_end ? static_cast<double>(hooks.asked_to_end()) : 0.0};
  host_->run(all_reduce(bytes_of(signal), DType::f64, Reduction::max));
  return static_cast<int>(signal[0]);
}

// Every model takes its share of the test, each sample once. Who is asked to end leaves it out.
void Trainer::evaluate(TrainResult& result, const TrainHooks& hooks) {
  if (data_.tests() == 0) return;
  const torch::NoGradGuard no_grad;
  Metrics metrics;
  metrics.add("loss", 0, 0), metrics.add("accuracy", 0, 0);  // for ranks without a sample
  std::array<double, 1> count{};
  for (int number = 0; number < data_.tests(); ++number) {
    result.interrupted_by = shared_signal(hooks);
    if (result.interrupted_by != 0) return;
    count[0] += test(number, metrics);
  }
  host_->run(all_reduce(bytes_of(count), DType::f64));
  const auto means = metrics.reduce(*host_);
  result.test_loss = means.at("loss");
  result.accuracy = means.at("accuracy");
  result.test_count = std::llround(count[0]);
}

void Trainer::train_steps(TrainResult& result, const TrainHooks& hooks) {
  for (int step = first_step_; step < options_.steps && result.interrupted_by == 0; ++step) {
    const Seconds begin = steady_now();
    const News news = train_step(step, hooks.asked_to_end ? hooks.asked_to_end() : 0);
    result.losses.push_back(news.loss);
    if (step + 1 < options_.steps) result.interrupted_by = news.signal;
    const bool due =
        news.save || (options_.checkpoint_every > 0 && (step + 1) % options_.checkpoint_every == 0);
    const bool last = step + 1 == options_.steps || result.interrupted_by != 0;  // saved below
    if (saver_ && due && !last) save(step + 1);
    if (hooks.on_step) hooks.on_step(step, news.loss, steady_now() - begin);
  }
}

// Of ranks that train apart, which have not told each other yet, and may have been ended after different
// steps.
void Trainer::average_losses(TrainResult& result) {
  if (!is_apart()) return;
  std::array<double, 1> count{static_cast<double>(result.losses.size())};
  host_->run(all_reduce(bytes_of(count), DType::f64, Reduction::min));
  result.losses.resize(static_cast<std::size_t>(count[0]));
  host_->run(all_reduce(bytes_of(result.losses), DType::f64, Reduction::avg));
}

TrainResult Trainer::train(const TrainHooks& hooks) {
  TrainResult result = describe();
  if (first_step_ >= options_.steps) {  // there is nothing left but to say how good it is
    evaluate(result, hooks);
    return result;
  }
  train_steps(result, hooks);
  model_->set_trace(nullptr);
  average_losses(result);
  timeline_ = gather_timeline(*host_, *recorder_, clock_,
                              fmt::format("gradwire train {}, {}", options_.model, result.backend));
  timeline_.on_processor = device_.is_cpu();
  if (result.model_ranks == 1) timeline_.samples = options_.batch * options_.accumulate;
  result.step = breakdown(timeline_);
  result.dropped_spans = recorder_->dropped();
  const TrainResult now = describe();
  result.buckets = now.buckets;
  result.held = now.held;
  result.skipped_steps = now.skipped_steps;
  if (mesh_.pp > 1)
    result.pipeline =
        measure_pipeline(timeline_, options_, {.step = first_step_, .complete = result.dropped_spans == 0});
  if (result.interrupted_by == 0) evaluate(result, hooks);
  return result;
}

// Behind all else, so that a run that fails before this has something left to do when it is started again.
void Trainer::save_last(const TrainResult& result) {
  if (!saver_ || result.losses.empty()) return;
  saver_->finish();
  save(first_step_ + static_cast<int>(result.losses.size()));
  saver_->finish();
}

}  // namespace gradwire

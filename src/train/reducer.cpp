#include "train/reducer.h"

#include <algorithm>

#include <torch/csrc/autograd/engine.h>

#include "base/error.h"
#include "base/text.h"
#include "sched/step_verify.h"
#include "train/inline_communicator.h"

namespace gradwire {
namespace {

std::vector<std::string> names_of(const std::vector<NamedTensor>& named) {
  std::vector<std::string> result;
  for (const auto& [name, tensor] : named) result.push_back(name);
  return result;
}

std::vector<torch::Tensor> tensors(const std::vector<NamedTensor>& named) {
  std::vector<torch::Tensor> result;
  for (const auto& [name, tensor] : named) result.push_back(tensor);
  return result;
}

bool overlaps(Overlap overlap, int ranks) {
  return overlap == Overlap::during_backward || (overlap == Overlap::automatic && ranks > 1);
}

// What a rank does in a step with these buckets. Ranks are alike, so of many a few stand for all.
std::vector<Task> proven_step(const std::vector<Bucket>& layout, int ranks) {
  constexpr int kMostProven = 8;
  if (layout.empty()) return {};
  auto graph = ddp_step_graph(std::min(ranks, kMostProven), layout);
  verify(graph);
  return std::move(graph.ranks.front());
}

}  // namespace

Reducer::Reducer(std::vector<NamedTensor> parameters, DeviceStreams& streams, const DdpOptions& options)
    : parameters_(std::move(parameters)),
      options_(options),
      streams_(streams),
      communicator_(streams.communicator()),
      inline_(overlaps(options.overlap, communicator_.size())
                  ? nullptr
                  : std::make_unique<InlineCommunicator>(communicator_)),
      hook_(options.hook ? options.hook : make_average_hook()),
      trace_(options.trace),
      arena_(tensors(parameters_), communicator_),
      ledger_(names_of(parameters_)) {
  const BucketCaps caps{.first = options.first_bucket_bytes, .rest = options.bucket_bytes};
  lay_out(assign_buckets(arena_.items(), caps));
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    hooks_.add(parameters_[i], [this, i] { on_gradient(static_cast<int>(i)); });
}

Reducer::~Reducer() {
  // Calls that a failed backward left behind still use the buckets' memory: they end before it goes.
  for (auto& work : works_) {
    try {
      if (work) work->finish();
    } catch (const std::exception&) {  // told to whoever makes the next call
    }
  }
}

void Reducer::lay_out(const std::vector<Bucket>& layout) {
  arena_.lay_out(layout);
  ledger_.lay_out(layout, proven_step(layout, communicator_.size()));
  const Lock lock(layout_mutex_);
  layout_ = layout;
}

void Reducer::before_forward() {
  const Lock lock(mutex_);
  running_ = nullptr;  // of a backward that failed half way
  in_backward_ = false;
  if (!next_layout_.empty()) lay_out(std::exchange(next_layout_, {}));
}

// Several forwards may share one backward: only what none of them uses is unused.
void Reducer::announce(std::shared_ptr<const Pass> pass) {
  const Lock lock(mutex_);
  if (!unused_)
    unused_ = pass->unused;
  else
    std::erase_if(*unused_, [&](int parameter) {
      return std::find(pass->unused.begin(), pass->unused.end(), parameter) == pass->unused.end();
    });
  pass_ = std::move(pass);
}

void Reducer::enter(std::shared_ptr<const Pass> pass) {
  const Lock lock(mutex_);
  if (in_backward_ && pass_ && pass_->sync != pass->sync)
    throw ConfigError(
        "one backward came to a forward made under no_sync() and to one made without: the ranks can't both "
        "average and not average; call backward for each by itself");
  expect_end();
  pass_ = std::move(pass);
}

// Has end() called when the backward that goes on ends.
void Reducer::expect_end() {
  if (std::exchange(in_backward_, true)) return;
  torch::autograd::Engine::get_default_engine().queue_callback([this] { end(); });
}

void Reducer::on_gradient(int parameter) {
  const Lock lock(mutex_);
  if (torch::GradMode::is_enabled())
    throw ConfigError(fmt::format(
        "a backward with create_graph=true reached parameter {}: a double backward through "
        "DistributedDataParallel is not supported; use torch::autograd::grad() on the module itself",
        name(parameter)));
  ledger_.check_awaited(parameter);  // also where nothing is averaged: it would never be
  arena_.attach(parameter);
  // Without a forward through the wrapper, as when a user calls the module itself, the ranks still agree.
  if (!running_) begin(pass_ ? pass_ : std::make_shared<Pass>());
  if (!running_->sync) return;
  note(parameter, Gradient::here);
  launch_ready();
}

void Reducer::begin(std::shared_ptr<const Pass> pass) {
  running_ = std::move(pass);
  expect_end();
  if (!running_->sync) return;
  start_pass();
  const bool known = order_known_ && options_.static_graph;
  for (const int parameter : known ? always_absent_ : unused_.value_or(std::vector<int>()))
    if (ledger_.of(parameter) == Gradient::awaited && arena_.bucket_of(parameter) >= 0)
      note(parameter, Gradient::absent);
}

void Reducer::start_pass() {
  ledger_.begin();
  works_.clear();
  works_.resize(arena_.layout().size());
  ready_.assign(arena_.layout().size(), 0);
  late_ready_.assign(arena_.layout().size(), {});
}

void Reducer::note(int parameter, Gradient what) {
  const auto completed = ledger_.note(parameter, what);
  if (what == Gradient::here) streams_.gradient_made(arena_.bucket_of(parameter));
  if (what == Gradient::absent) arena_.clear_if_absent(parameter);
  if (completed) note_ready(static_cast<std::size_t>(*completed));
}

void Reducer::note_ready(std::size_t bucket) {
  DeviceMarks* const marks = trace_ != nullptr ? trace_->marks() : nullptr;
  if (marks != nullptr)
    late_ready_[bucket] = marks->mark();
  else
    ready_[bucket] = steady_now();
}

void Reducer::launch_ready() {
  if (inline_) return;
  while (const auto bucket = ledger_.take_next()) launch(*bucket);
}

void Reducer::launch(int bucket) {
  const torch::NoGradGuard no_grad;
  streams_.wait_for_gradients(bucket);
  GradBucket leaving = arena_.buckets()[bucket];
  leaving.last = ledger_.left() == ledger_.buckets();
  const Timed timed(options_.hook ? trace_ : nullptr, SpanKind::other, "compress");
  works_[bucket] = hook_->start(leaving, inline_ ? *inline_ : communicator_);
}

// Autograd calls it when the graph is done, in the thread that called backward().
void Reducer::end() {
  const Lock lock(mutex_);
  const auto pass = std::exchange(running_, nullptr);
  pass_ = nullptr;
  in_backward_ = false;
  unused_.reset();
  if (!pass || !pass->sync) return;
  const torch::NoGradGuard no_grad;
  settle_missing();
  finish();
}

void Reducer::settle_missing() {
  const std::vector<int> without = ledger_.awaited();
  if (!without.empty() && !tolerates_missing()) refuse_missing(without);
  if (options_.static_graph && !order_known_) always_absent_ = without;
  for (const int parameter : without) note(parameter, Gradient::absent);
}

void Reducer::refuse_missing(const std::vector<int>& missing) const {
  constexpr std::size_t kNamed = 5;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(missing.size(), kNamed); ++i) names.push_back(name(missing[i]));
  if (missing.size() > kNamed) names.push_back("...");
  throw ConfigError(
      fmt::format("rank {}: backward gave no gradient to {} of {} parameters ({}). Use them in the loss, "
                  "freeze them, or set "
                  "DdpOptions::find_unused_parameters (static_graph when it is the same in every step)",
                  communicator_.rank(), missing.size(), parameters_.size(), join(names, ", ")));
}

void Reducer::finish() {
  std::optional<Timed> timed(std::in_place, trace_, SpanKind::wait);
  while (const auto bucket = ledger_.take_next()) launch(*bucket);
  finish_buckets();
  const std::vector<int> seen = tolerates_missing() ? agree_on_presence() : ledger_.order();
  if (options_.static_graph && order_known_)
    for (const int parameter : always_absent_)
      if (arena_.bucket_of(parameter) >= 0) arena_.set_gradient(parameter, true);
  timed.reset();
  if (!order_known_) agree_on_order(seen);
}

void Reducer::finish_buckets() {
  for (const int awaited : ledger_.awaited_by_update()) {
    const auto bucket = static_cast<std::size_t>(awaited);
    works_[bucket]->finish();
    if (scale_ != 1) arena_.buckets()[bucket].flat.mul_(scale_);
    record_bucket(bucket);
  }
  works_.clear();
}

// On a device nothing has happened yet: the call is kept until it knows when it ran.
void Reducer::record_late_bucket(std::size_t bucket) {
  trace_->add_late({.kind = SpanKind::bucket,
                    .bucket = static_cast<int>(bucket),
                    .bytes = arena_.layout()[bucket].bytes,
                    .find = [work = std::shared_ptr(std::move(works_[bucket])),
                             ready = late_ready_[bucket]]() -> std::optional<Recorder::BucketTimes> {
                      const auto times = work->times();
                      if (!times) return std::nullopt;
                      const Seconds begin = on_steady_clock(times->begin);
                      const auto made = ready ? ready() : std::nullopt;
                      return Recorder::BucketTimes{std::min(made.value_or(begin), begin), begin,
                                                   on_steady_clock(times->end)};
                    }});
}

void Reducer::record_bucket(std::size_t bucket) {
  if (trace_ != nullptr && trace_->marks() != nullptr) return record_late_bucket(bucket);
  const auto times = trace_ != nullptr ? works_[bucket]->times() : std::nullopt;
  if (!times) return;
  const Seconds begin = on_steady_clock(times->begin);
  trace_->add_bucket(static_cast<int>(bucket), arena_.layout()[bucket].bytes,
                     {std::min(ready_[bucket], begin), begin, on_steady_clock(times->end)});
}

}  // namespace gradwire

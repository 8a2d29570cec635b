#include "train/sharded/shard_reducer.h"

#include <algorithm>
#include <utility>

#include <torch/csrc/autograd/engine.h>

#include "base/error.h"
#include "base/text.h"
#include "train/inline_communicator.h"
#include "train/sharded/unit_tags.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

constexpr int kBlocks = 2;  // one being filled, one on its way

// What lies between the members must not be what another unit left there: norms are over the whole share.
void zero_gaps(const torch::Tensor& whole, const FlatLayout& layout) {
  std::int64_t at = 0;
  for (const auto& member : layout.members()) {
    if (member.offset > at) whole.narrow(0, at, member.offset - at).zero_();
    at = member.offset + member.elements;
  }
  if (layout.total() > at) whole.narrow(0, at, layout.total() - at).zero_();
}

}  // namespace

ShardReducer::ShardReducer(ShardedUnits& units, bool allow_unused)
    : units_(units),
      allow_unused_(allow_unused),
      inline_(units.communicator().size() > 1 ? nullptr
                                              : std::make_unique<InlineCommunicator>(units.communicator())),
      states_(units.units().size()) {
  std::size_t shares = 0;
  for (const auto& unit : units_.units()) {
    if (!unit.trainable) continue;
    shares += CommunicatorBlock::room(unit.layout.share(), unit.type);
    block_bytes_ = std::max(block_bytes_, CommunicatorBlock::room(unit.layout.total(), unit.compute_type));
  }
  CommunicatorBlock block(units_.communicator(), shares);
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (const auto& unit = units_.units()[i]; unit.trainable)
      states_[i].share = block.take(unit.layout.share(), units_.options_for(unit.type));
  add_hooks();
}

ShardReducer::~ShardReducer() {
  const Lock lock(mutex_);
  for (auto& state : states_) {  // calls that a failed backward left behind still use the blocks' memory
    try {
      if (state.work) state.work->wait();
    } catch (const std::exception&) {  // told to whoever makes the next call
    }
  }
}

void ShardReducer::add_hooks() {
  for (std::size_t u = 0; u < units_.units().size(); ++u) {
    const auto& unit = units_.units()[u];
    for (std::size_t i = 0; unit.trainable && i < unit.parameters.size(); ++i)
      hooks_.add(unit.parameters[i], [this, u, i] { on_gradient(static_cast<int>(u), static_cast<int>(i)); });
  }
}

void ShardReducer::before_forward() {
  const Lock lock(mutex_);
  if (!in_backward_) return;
  while (!in_flight_.empty()) finish_oldest();
  for (auto& state : states_) {
    state.begun = state.launched = false;
    if (state.block && units_.settings().stage > 1)
      free_blocks_.push_back(std::exchange(state.block, nullptr));
  }
  in_backward_ = false;
  units_.forget_step();
}

void ShardReducer::expect_end() {
  if (std::exchange(in_backward_, true)) return;
  torch::autograd::Engine::get_default_engine().queue_callback([this] { end(); });
}

void ShardReducer::on_gradient(int unit, int member) {
  const Lock lock(mutex_);
  const auto& name = unit_at(unit).parameters[static_cast<std::size_t>(member)].name;
  if (torch::GradMode::is_enabled())
    throw ConfigError(
        fmt::format("a backward with create_graph=true reached parameter {}: a double backward through "
                    "ShardedDataParallel "
                    "is not supported",
                    name));
  const torch::NoGradGuard no_grad;
  expect_end();
  State& state = states_[static_cast<std::size_t>(unit)];
  if (!state.begun && !state.launched) begin_unit(unit);
  if (std::exchange(state.here[static_cast<std::size_t>(member)], 1) != 0)
    throw ConfigError(fmt::format("parameter {} got two gradients in one backward", name));
  take_gradient(unit, member);
  if (--state.missing > 0) return;
  state.ready = steady_now();
  if (!allow_unused_) complete(unit);
}

// Reduced when the graph of the step says so, which is now, or with the last micro-batch.
void ShardReducer::complete(int unit) {
  if (units_.complete_gradient(unit, sends())) launch(unit);
}

void ShardReducer::begin_unit(int unit) {
  State& state = states_[static_cast<std::size_t>(unit)];
  state.begun = true;
  state.launched = false;
  state.missing = static_cast<int>(unit_at(unit).parameters.size());
  state.here.assign(unit_at(unit).parameters.size(), 0);
  if (state.block) return;  // stage 1: its own
  state.block = take_block(unit);
  view_block(unit);
}

// Waits for the oldest one under way rather than take a third.
std::shared_ptr<Memory> ShardReducer::take_block(int unit) {
  const bool pooled = units_.settings().stage > 1;
  if (pooled && free_blocks_.empty() && blocks_ >= kBlocks && !in_flight_.empty()) finish_oldest();
  if (pooled && !free_blocks_.empty()) {
    auto block = std::move(free_blocks_.back());
    free_blocks_.pop_back();
    return block;
  }
  const auto bytes = pooled
                         ? block_bytes_
                         : CommunicatorBlock::room(unit_at(unit).layout.total(), unit_at(unit).compute_type);
  ++blocks_;
  held_blocks_ += static_cast<Bytes>(bytes);
  return std::make_shared<Memory>(units_.communicator().allocate(bytes));
}

void ShardReducer::view_block(int index) {
  const auto& unit = unit_at(index);
  State& state = states_[static_cast<std::size_t>(index)];
  const auto bytes = static_cast<std::size_t>(unit.layout.total()) * torch::elementSize(unit.compute_type);
  state.whole =
      flat_tensor_in(state.block, state.block->bytes().first(bytes), units_.options_for(unit.compute_type));
  zero_gaps(state.whole, unit.layout);
  state.views.clear();
  for (std::size_t i = 0; i < unit.shapes.size(); ++i) {
    const auto& member = unit.layout.members()[i];
    state.views.push_back(state.whole.narrow(0, member.offset, member.elements).view(unit.shapes[i]));
  }
}

void ShardReducer::take_gradient(int unit, int member) {
  const auto& parameter = unit_at(unit).parameters[static_cast<std::size_t>(member)].tensor;
  torch::Tensor& view = states_[static_cast<std::size_t>(unit)].views[static_cast<std::size_t>(member)];
  auto& grad = parameter.mutable_grad();
  const bool strided = grad.layout() == torch::kStrided;
  if (!strided || grad.data_ptr() != view.data_ptr()) view.copy_(strided ? grad : grad.to_dense());
  if (units_.settings().stage == 1)
    grad = view;
  else
    grad.reset();
}

void ShardReducer::launch(int index) {
  const auto& unit = unit_at(index);
  State& state = states_[static_cast<std::size_t>(index)];
  state.launched = true;
  state.added = unit.share.grad().defined();
  const bool direct = !state.added && unit.type == unit.compute_type;
  if (!direct && !state.scratch.defined())
    state.scratch =
        allocate_tensor(units_.communicator(), unit.layout.share(), units_.options_for(unit.compute_type));
  Call call = reduce_scatter(memory_of(state.whole), memory_of(direct ? state.share : state.scratch),
                             dtype_of(unit.compute_type, "a gradient"), Reduction::avg);
  call.tag = kReduceTag + static_cast<std::uint32_t>(index);
  state.work = (inline_ ? *inline_ : units_.communicator()).start(call);
  in_flight_.push_back(index);
}

void ShardReducer::finish_oldest() {
  const int unit = in_flight_.front();
  in_flight_.pop_front();
  finish_unit(unit);
}

void ShardReducer::finish_unit(int index) {
  const auto& unit = unit_at(index);
  State& state = states_[static_cast<std::size_t>(index)];
  {
    const Timed timed(trace_, SpanKind::wait, "reduce-scatter");
    state.work->wait();
  }
  if (const auto times = trace_ != nullptr ? state.work->times() : std::nullopt) {
    const Seconds begin = on_steady_clock(times->begin);
    trace_->add_collective("reduce-scatter", index, static_cast<Bytes>(state.whole.nbytes()),
                           {std::min(state.ready, begin), begin, on_steady_clock(times->end)});
  }
  state.work.reset();
  auto& grad = unit.share.mutable_grad();
  if (state.added) {
    grad.add_(state.scratch);
  } else {
    if (unit.type != unit.compute_type) state.share.copy_(state.scratch);
    grad = state.share;
  }
  state.begun = false;
  if (units_.settings().stage > 1)
    free_blocks_.push_back(std::exchange(state.block, nullptr));
  else
    for (const auto& parameter : unit.parameters) parameter.tensor.mutable_grad().reset();
}

// Autograd calls it when the graph is done, in the thread that called backward().
void ShardReducer::end() {
  const Lock lock(mutex_);
  const torch::NoGradGuard no_grad;
  in_backward_ = false;
  if (sends()) settle_missing();
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (allow_unused_ && unit_at(static_cast<int>(i)).trainable) complete(static_cast<int>(i));
  while (!in_flight_.empty()) finish_oldest();
  for (auto& state : states_) state.begun = state.launched = false;
  units_.end_backward(no_sync_ == 0);  // an optimizer comes next
}

void ShardReducer::settle_missing() {
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const auto& unit = units_.units()[i];
    const State& state = states_[i];
    if (!unit.trainable || state.launched) continue;
    for (std::size_t member = 0; member < unit.parameters.size(); ++member)
      if (!state.begun || state.here[member] == 0) missing.push_back(unit.parameters[member].name);
    if (allow_unused_) clear_missing(static_cast<int>(i));
  }
  if (missing.empty() || allow_unused_) return;
  const std::size_t count = missing.size();
  if (count > 5) missing.resize(5), missing.push_back("...");
  throw ConfigError(fmt::format(
      "rank {}: backward gave no gradient to {} parameters ({}). Use them in the loss, freeze them, or set "
      "ShardedOptions::allow_unused",
      units_.communicator().rank(), count, join(missing, ", ")));
}

void ShardReducer::clear_missing(int index) {
  State& state = states_[static_cast<std::size_t>(index)];
  if (!state.begun) begin_unit(index);
  for (std::size_t member = 0; member < state.here.size(); ++member) {
    const auto& grad = unit_at(index).parameters[member].tensor.grad();
    if (state.here[member] == 0 && !grad.defined()) state.views[member].zero_();
  }
  state.ready = steady_now();
}

void ShardReducer::zero_grad() {
  for (const auto& unit : units_.units()) {
    unit.share.mutable_grad().reset();
    for (const auto& parameter : unit.parameters) parameter.tensor.mutable_grad().reset();
  }
}

Bytes ShardReducer::held() const {
  const Lock lock(mutex_);
  Bytes bytes = held_blocks_;
  for (const auto& state : states_) {
    if (state.share.defined()) bytes += static_cast<Bytes>(state.share.nbytes());
    if (state.scratch.defined()) bytes += static_cast<Bytes>(state.scratch.nbytes());
  }
  return bytes;
}

int ShardReducer::blocks() const {
  const Lock lock(mutex_);
  return blocks_;
}

}  // namespace gradwire

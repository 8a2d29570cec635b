#include "comm/nccl/engine.h"

#include <cstring>

#include "base/error.h"
#include "comm/messages.h"
#include "comm/nccl/diagnosis.h"

namespace gradwire {
namespace {

constexpr std::size_t kBarrierBytes = 4;

// A rank may end well and at once when its own part of a call is done: so long may the rest still take.
constexpr Seconds kLastBytes = 0.3;

// How long the failure of another rank may stay unnoticed: NCCL does not always tell.
constexpr Seconds kAskStoreEvery = 0.25;

bool is_error(ncclResult_t result) { return result != ncclSuccess && result != ncclInProgress; }

struct CallMarks {
  std::optional<TimedMark> begin, end;  // where calls are timed
};

std::chrono::steady_clock::time_point on_host_clock(Seconds time) {
  using Clock = std::chrono::steady_clock;
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<Seconds>(time)));
}

class EventWork final : public NcclWork {
 public:
  struct Pending {
    Signature call;
    Seconds timeout;
    CudaEvent end;
    CallMarks marks;
  };
  EventWork(std::shared_ptr<NcclEngine> engine, Pending pending)
      : engine_(std::move(engine)),
        call_(pending.call),
        timeout_(pending.timeout),
        end_(std::move(pending.end)),
        marks_(std::move(pending.marks)) {}

  bool done() override { return ended_ || end_.reached() || engine_->in_trouble(); }

  void wait() override {
    if (ended_) return;
    engine_->await(
        call_, [this] { return end_.reached(); }, timeout_);
    ended_ = true;
  }

  std::optional<WorkTimes> times() const override {
    if (!marks_.begin || !marks_.end) return std::nullopt;
    const auto end = marks_.end->find(), begin = end ? marks_.begin->find() : std::nullopt;
    if (!begin) return std::nullopt;
    return WorkTimes{on_host_clock(*begin), on_host_clock(*end)};
  }

  void wait_on(void* stream) override {
    engine_->throw_if_broken();
    const OnDevice current(engine_->device());
    check_cuda(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), end_.get(), 0), "cudaStreamWaitEvent");
  }

 private:
  const std::shared_ptr<NcclEngine> engine_;
  const Signature call_;
  const Seconds timeout_;
  const CudaEvent end_;
  const CallMarks marks_;
  bool ended_ = false;  // seen by wait(): what happens later changes nothing for this call
};

}  // namespace

NcclEngine::NcclEngine(const World& world, int device, bool check_calls, std::unique_ptr<Roster> roster)
    : world_(world),
      device_(device),
      check_calls_(check_calls),
      backoff_(world.local_size),
      roster_(std::move(roster)),
      scratch_(allocate_on(device, kBarrierBytes, Deadline::after(world.timeout))) {}

void NcclEngine::connect() {
  ncclUniqueId id{};
  if (world_.rank == 0) {
    const ncclResult_t made = ncclGetUniqueId(&id);
    if (made != ncclSuccess)
      throw TransportError(fmt::format("rank 0: ncclGetUniqueId: {}", handle_.explain(made)));
  }
  const std::string text = roster_->share("id", {id.internal, sizeof id.internal});
  check(text.size() == sizeof id.internal, "NCCL's unique id in the store is cut short");
  std::memcpy(id.internal, text.data(), text.size());
  settle(std::nullopt, handle_.begin(world_.size, id, world_.rank));
}

std::unique_ptr<NcclWork> NcclEngine::start(const Call& call) {
  const Lock lock(order_);
  throw_if_broken();
  if (finished_) throw ConfigError(fmt::format("{} after finish()", name_of(call.kind)));
  const Signature signature = check_call(call, world_.size, sequence_);
  const Call whole = spell_out(call, world_.rank, world_.size);
  const OnDevice current(device_);
  require_placement(whole, signature);
  const bool everybody = !is_point_to_point(call.kind);
  if (everybody) ++sequence_;
  try {
    // Ranks that have parts of different sizes differ in their bytes.
    if (check_calls_ && everybody && !is_of_messages(call)) roster_->check_same_call(signature);
    check_cuda(cudaStreamWaitEvent(stream_.get(), ready_.get(), 0), "cudaStreamWaitEvent");
    return launch(whole, signature);
  } catch (...) {
    break_with(std::current_exception());
    throw;
  }
}

void NcclEngine::set_clock(std::shared_ptr<CudaClock> clock) {
  const Lock lock(order_);
  clock_ = std::move(clock);
}

// The end is recorded when NCCL has put the call on the stream, not before: see settle().
std::unique_ptr<NcclWork> NcclEngine::launch(const Call& call, const Signature& signature) {
  CallMarks marks;
  if (clock_) marks.begin.emplace(clock_->mark(stream_.get()));
  Call real = call;
  if (call.kind == Collective::barrier) real = all_reduce(scratch_.bytes(), DType::i32);
  if (!real.in.empty() || !real.out.empty() || !real.messages.empty())
    settle(signature,
           handle_.call([&](ncclComm_t communicator) { return enqueue(real, communicator, stream_.get()); }));
  CudaEvent end;
  end.record(stream_.get());
  if (clock_) marks.end.emplace(clock_->mark(stream_.get()));
  return std::make_unique<EventWork>(
      shared_from_this(), EventWork::Pending{signature, call.timeout, std::move(end), std::move(marks)});
}

// Notes where the caller's stream is, on the way: only a stream of this GPU lets it.
void NcclEngine::require_placement(const Call& call, const Signature& signature) {
  const auto refuse_if = [&](const char* name, const std::optional<std::string>& problem) {
    if (problem)
      throw ConfigError(
          fmt::format("rank {}, {}: `{}` is {}", world_.rank, describe(signature), name, *problem));
  };
  if (call.kind != Collective::broadcast) refuse_if("in", find_memory_problem(call.in, device_));
  refuse_if("out", find_memory_problem(call.out, device_));
  for (const Message& message : call.messages) {
    if (message.out) refuse_if("out", find_memory_problem(*message.out, device_));
    if (message.in) refuse_if("in", find_memory_problem(*message.in, device_));
  }
  if (!ready_.try_record(static_cast<cudaStream_t>(call.stream)))
    refuse_if("stream",
              fmt::format("no stream of GPU {}, where this communicator is: give the stream of that "
                          "GPU on which `in` is made, or none for its default stream",
                          device_));
}

// NCCL goes on with a call in the background; until it is done neither NCCL nor the stream may be used.
void NcclEngine::settle(const std::optional<Signature>& call, ncclResult_t returned) {
  if (is_error(returned)) {
    throw_if_broken();
    fail(call, false, fmt::format("NCCL says: {}", handle_.explain(returned)));
  }
  await(call, [this] { return handle_.state() != ncclInProgress; });
  const ncclResult_t state = handle_.state();
  if (is_error(state)) fail(call, false, fmt::format("NCCL says: {}", handle_.explain(state)));
}

void NcclEngine::await(const std::optional<Signature>& call, const std::function<bool()>& ready,
                       Seconds timeout) {
  const Seconds patience = timeout > 0 ? timeout : world_.timeout;
  const Deadline deadline = Deadline::after(patience);
  Deadline next_question = Deadline::after(kAskStoreEvery);
  std::optional<Deadline> last_bytes;
  backoff_.wait(ready, [&] {
    throw_if_broken();
    const ncclResult_t state = handle_.state();
    if (is_error(state)) fail(call, false, fmt::format("NCCL says: {}", handle_.explain(state)));
    if (!last_bytes && roster_->find_ended()) last_bytes = Deadline::after(kLastBytes);
    if (last_bytes && last_bytes->passed()) fail(call, false, "a rank has ended");
    if (deadline.passed()) fail(call, true, fmt::format("waited {}", format_seconds(patience)));
    if (!next_question.passed()) return;
    if (const auto alarm = roster_->find_alarm()) fail(call, alarm->timed_out, alarm->text);
    next_question = Deadline::after(kAskStoreEvery);
  });
  throw_if_broken();
}

bool NcclEngine::in_trouble() { return broken() || is_error(handle_.state()) || roster_->find_ended(); }

std::exception_ptr NcclEngine::broken() {
  const Lock lock(state_);
  return broken_;
}

void NcclEngine::throw_if_broken() {
  if (const auto error = broken()) std::rethrow_exception(error);
}

void NcclEngine::fail(const std::optional<Signature>& call, bool timed_out, const std::string& symptom) {
  break_with(diagnose({world_.rank, call, timed_out, symptom}, *roster_));
  std::rethrow_exception(broken());
}

void NcclEngine::break_with(std::exception_ptr error) noexcept {
  {
    const Lock lock(state_);
    if (!broken_) broken_ = std::move(error);
  }
  const OnDevice current(device_);
  handle_.abort();
}

void NcclEngine::finish() {
  const Lock lock(order_);
  throw_if_broken();
  if (std::exchange(finished_, true)) return;
  settle(std::nullopt, handle_.call(ncclCommFinalize));
  const OnDevice current(device_);
  handle_.destroy();
}

void NcclEngine::give_up(const std::string& why) noexcept {
  break_with(std::make_exception_ptr(Cancelled(why)));
}

void NcclEngine::abort() {
  const auto why = fmt::format("rank {} aborted its communicator", world_.rank);
  give_up(why);
  roster_->leave(why);
}

}  // namespace gradwire

#include "comm/queued.h"

#include <atomic>
#include <deque>
#include <exception>
#include <thread>

#include "base/error.h"
#include "base/mutex.h"
#include "comm/messages.h"

namespace gradwire {
namespace {

// A call between start() and its end. `error` and `times` are written before `done` and read after it.
struct Item {
  Call call;
  Signature signature;
  std::exception_ptr error;
  WorkTimes times;
  std::atomic<bool> done = false;
};

}  // namespace

// Lock order: runner_ before queue_mutex_. Whoever holds runner_ may execute calls.
class Queued::State {
 public:
  State(std::unique_ptr<Collectives> collectives, std::unique_ptr<FlightRecorder> recorder)
      : collectives_(std::move(collectives)), recorder_(std::move(recorder)) {
    if (!recorder_) recorder_ = std::make_unique<FlightRecorder>();
  }

  Collectives& collectives() { return *collectives_; }

  // True when the call ran here and now: nothing is queued or running.
  bool run_at_once(const Call& call, const Signature& signature) {
    if (unfinished_.load(std::memory_order_acquire) != 0 || !runner_.try_lock()) return false;
    const Lock lock(runner_, std::adopt_lock);
    if (unfinished_.load(std::memory_order_acquire) != 0) return false;
    execute(call, signature);
    return true;
  }

  void enqueue(std::shared_ptr<Item> item) {
    const Lock lock(queue_mutex_);
    unfinished_.fetch_add(1, std::memory_order_release);
    queue_.push_back(std::move(item));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    arrived_.notify_one();
  }

  // Runs calls up to this one where nobody else does. Whoever does may go on with the next call at once, and that one may
  // need what the caller does after this: so its end is told, and nobody queues for the lock.
  void wait(Item& item) {
    while (!item.done.load(std::memory_order_acquire)) {
      if (runner_.try_lock()) {
        const Lock lock(runner_, std::adopt_lock);
        if (!item.done.load(std::memory_order_acquire)) run_next();
      } else {
        const Lock lock(queue_mutex_);
        while (!item.done.load(std::memory_order_acquire)) ended_.wait(queue_mutex_);
      }
    }
    if (item.error) std::rethrow_exception(item.error);
  }

  // A running call ends soon, and with it the wait for the lock.
  void abort() {
    collectives_->cancel();
    const Lock lock(runner_);
    const Cancelled why(fmt::format("rank {} aborted its communicator", collectives_->rank()));
    fail(std::make_exception_ptr(why));
    collectives_->give_up(why);
  }

  void stop() {
    {
      const Lock lock(queue_mutex_);
      stopping_ = true;
      arrived_.notify_one();
    }
    if (unfinished_.load() != 0) collectives_->cancel();
    if (thread_.joinable()) thread_.join();
    const Lock lock(runner_);
    fail(std::make_exception_ptr(Cancelled("the communicator was destroyed before this call ended")));
    while (run_next()) {
    }
  }

 private:
  void work() {
    while (wait_for_work()) {
      const Lock lock(runner_);
      run_next();
    }
  }

  bool wait_for_work() {
    const Lock lock(queue_mutex_);
    while (queue_.empty() && !stopping_) arrived_.wait(queue_mutex_);
    return !stopping_;
  }

  // Runs the oldest call of the queue; false when there is none.
  bool run_next() REQUIRES(runner_) {
    const std::shared_ptr<Item> item = take();
    if (!item) return false;
    item->times.begin = std::chrono::steady_clock::now();
    try {
      execute(item->call, item->signature);
    } catch (...) {
      item->error = std::current_exception();
    }
    item->times.end = std::chrono::steady_clock::now();
    item->done.store(true, std::memory_order_release);
    unfinished_.fetch_sub(1, std::memory_order_release);
    const Lock lock(queue_mutex_);
    ended_.notify_all();
    return true;
  }

  std::shared_ptr<Item> take() {
    const Lock lock(queue_mutex_);
    if (queue_.empty()) return nullptr;
    auto item = std::move(queue_.front());
    queue_.pop_front();
    return item;
  }

  void execute(const Call& call, Signature signature) REQUIRES(runner_) {
    if (broken_) std::rethrow_exception(broken_);
    signature.sequence = is_point_to_point(call.kind) ? sequence_ : sequence_++;
    recorder_->begin(signature);
    try {
      run_call(*collectives_, call, signature, scratch_);
      recorder_->end(FlightState::completed);
    } catch (...) {
      recorder_->end(FlightState::failed);
      fail(std::current_exception());
      throw;
    }
  }

  void fail(std::exception_ptr error) REQUIRES(runner_) {
    if (!broken_) broken_ = error;
  }

  const std::unique_ptr<Collectives> collectives_;
  std::atomic<int> unfinished_ = 0;  // calls queued or running that came through the queue

  Mutex runner_;
  std::unique_ptr<FlightRecorder> recorder_ GUARDED_BY(runner_);
  std::uint64_t sequence_ GUARDED_BY(runner_) = 0;  // of calls that all ranks make
  Memory scratch_ GUARDED_BY(runner_);
  std::exception_ptr broken_ GUARDED_BY(runner_);

  Mutex queue_mutex_;
  Condition arrived_, ended_;  // a call came; one has ended
  std::deque<std::shared_ptr<Item>> queue_ GUARDED_BY(queue_mutex_);
  bool stopping_ GUARDED_BY(queue_mutex_) = false;
  std::thread thread_;  // started by the first enqueue, joined by stop
};

namespace {

template <typename State>
class QueuedWork final : public Work {
 public:
  QueuedWork(std::shared_ptr<State> state, std::shared_ptr<Item> item)
      : state_(std::move(state)), item_(std::move(item)) {}
  bool done() override { return item_->done.load(std::memory_order_acquire); }
  void wait() override { state_->wait(*item_); }
  std::optional<WorkTimes> times() const override {
    if (!item_->done.load(std::memory_order_acquire)) return std::nullopt;
    return item_->times;
  }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<Item> item_;
};

}  // namespace

Queued::Queued(std::unique_ptr<Collectives> collectives, std::unique_ptr<FlightRecorder> recorder)
    : state_(std::make_shared<State>(std::move(collectives), std::move(recorder))) {}

Queued::~Queued() { state_->stop(); }

Rank Queued::rank() const { return state_->collectives().rank(); }
int Queued::size() const { return state_->collectives().size(); }
std::string Queued::name() const { return state_->collectives().name(); }
Carrier Queued::carrier() const { return state_->collectives().carrier(); }
Memory Queued::allocate(std::size_t bytes) { return state_->collectives().allocate(bytes); }
void Queued::abort() { state_->abort(); }

std::unique_ptr<Work> Queued::start(const Call& call) {
  auto item = std::make_shared<Item>();
  item->signature = check_call(call, size(), 0);
  item->call = is_of_messages(call) ? spell_out(call, rank(), size()) : call;
  state_->enqueue(item);
  return std::make_unique<QueuedWork<State>>(state_, std::move(item));
}

void Queued::run(const Call& call) {
  const Signature signature = check_call(call, state_->collectives().size(), 0);
  if (is_of_messages(call)) {
    const Call whole = spell_out(call, rank(), size());
    if (!state_->run_at_once(whole, signature)) start(call)->wait();
  } else if (!state_->run_at_once(call, signature)) {
    start(call)->wait();
  }
}

}  // namespace gradwire

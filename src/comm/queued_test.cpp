#include "comm/queued.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "base/error.h"

namespace gradwire {
namespace {

// Collectives of one rank that remember what they were asked; a call with tag `gate` blocks until it is
// opened.
class Recorder final : public Collectives {
 public:
  static constexpr std::uint32_t kGate = 1000, kFault = 2000, kSecondGate = 3000;

  struct Log {
    std::vector<std::uint32_t> tags;  // in the order of execution
    std::vector<std::uint64_t> sequences;
    std::vector<std::thread::id> threads;
    std::latch entered{1};
    std::atomic<bool> open = false, second_open = false, cancelled = false;
    std::string told;
  };

  explicit Recorder(Log& log) : log_(log) {}
  Rank rank() const override { return 0; }
  int size() const override { return 1; }
  std::string name() const override { return "recorder"; }
  Carrier carrier() const override { return Carrier::network; }
  Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
  void give_up(const std::exception& why) noexcept override { log_.told = why.what(); }
  void exchange(std::span<const Message> messages, const Signature& signature, Seconds) override {
    run({.tag = messages[0].tag}, signature);
  }
  void cancel() noexcept override {
    log_.cancelled = true;
    log_.cancelled.notify_all();
    open(log_);
  }

  void run(const Call& call, const Signature& signature) override {
    if (call.tag == kGate) {
      log_.entered.count_down();
      log_.open.wait(false);
      if (log_.cancelled) throw Cancelled("cancelled");
    }
    if (call.tag == kSecondGate) log_.second_open.wait(false);
    if (call.tag == kFault) throw PeerLost(3, "rank 3 died");
    log_.tags.push_back(call.tag);
    log_.sequences.push_back(signature.sequence);
    log_.threads.push_back(std::this_thread::get_id());
  }

  static void open(Log& log) {
    log.open = true;
    log.open.notify_all();
  }

 private:
  Log& log_;
};

Call call_with(std::uint32_t tag) {
  Call call = barrier();
  call.tag = tag;
  return call;
}

class QueuedTest : public testing::Test {
 protected:
  Recorder::Log log_;
  Queued queued_{std::make_unique<Recorder>(log_)};
};

TEST_F(QueuedTest, runs_calls_in_the_order_they_were_started) {
  std::vector<std::unique_ptr<Work>> works;
  works.push_back(queued_.start(call_with(Recorder::kGate)));
  for (std::uint32_t tag = 1; tag <= 20; ++tag) works.push_back(queued_.start(call_with(tag)));
  Recorder::open(log_);
  for (auto& work : works) work->wait();
  queued_.run(call_with(21));
  ASSERT_EQ(log_.tags.size(), 22u);
  for (std::uint32_t i = 1; i <= 21; ++i) EXPECT_EQ(log_.tags[i], i);
  for (std::uint64_t i = 0; i < 22; ++i) EXPECT_EQ(log_.sequences[i], i);
}

TEST_F(QueuedTest, runs_a_blocking_call_in_the_callers_own_thread) {
  queued_.run(call_with(1));
  EXPECT_EQ(log_.threads, std::vector{std::this_thread::get_id()});
}

TEST_F(QueuedTest, says_when_a_call_ran_once_it_has_ended) {
  const auto work = queued_.start(call_with(Recorder::kGate));
  EXPECT_FALSE(work->times());
  Recorder::open(log_);
  work->wait();
  ASSERT_TRUE(work->times());
  EXPECT_LE(work->times()->begin, work->times()->end);
}

// As between two ranks: the second receive comes only after what the first one brought has been answered.
TEST_F(QueuedTest, tells_of_a_calls_end_while_the_next_one_runs) {
  for (int round = 0; round < 20; ++round) {
    Recorder::Log log;
    Queued queued(std::make_unique<Recorder>(log));
    const auto first = queued.start(call_with(Recorder::kGate));
    const auto second = queued.start(call_with(Recorder::kSecondGate));
    log.entered.wait();
    std::jthread waiter([&] {
      first->wait();
      log.second_open = true;
      log.second_open.notify_all();
    });
    Recorder::open(log);
    waiter.join();
    second->wait();
    EXPECT_EQ(log.tags, (std::vector<std::uint32_t>{Recorder::kGate, Recorder::kSecondGate}));
  }
}

TEST_F(QueuedTest, makes_progress_without_anybody_waiting) {
  const auto work = queued_.start(call_with(Recorder::kGate));
  log_.entered.wait();  // in the background thread: this one has not asked for anything
  EXPECT_FALSE(work->done());
  Recorder::open(log_);
  work->wait();
  EXPECT_TRUE(work->done());
  EXPECT_NE(log_.threads[0], std::thread::id());
}

TEST_F(QueuedTest, gives_every_later_call_the_error_that_broke_it) {
  const auto first = queued_.start(call_with(Recorder::kFault));
  const auto second = queued_.start(call_with(1));
  EXPECT_THROW(first->wait(), PeerLost);
  EXPECT_THROW(second->wait(), PeerLost);
  EXPECT_THROW(queued_.run(call_with(2)), PeerLost);
  EXPECT_TRUE(log_.tags.empty());
}

TEST_F(QueuedTest, refuses_a_wrong_call_without_breaking) {
  EXPECT_THROW(queued_.start(broadcast({}, DType::f32, 5)), ConfigError);
  queued_.run(call_with(1));
  EXPECT_EQ(log_.tags.size(), 1u);
}

TEST_F(QueuedTest, numbers_the_calls_of_all_ranks_alone) {
  std::array<std::byte, 1> data{};
  queued_.run(call_with(1));
  queued_.run(exchange({{.peer = 0, .out = data, .in = data}}));
  queued_.run(call_with(2));
  EXPECT_EQ(log_.sequences, (std::vector<std::uint64_t>{0, 1}));
}

TEST_F(QueuedTest, ends_running_and_later_calls_when_it_is_aborted_and_tells_the_others) {
  const auto running = queued_.start(call_with(Recorder::kGate));
  const auto queued = queued_.start(call_with(1));
  log_.entered.wait();
  queued_.abort();
  EXPECT_THROW(running->wait(), Cancelled);
  EXPECT_THROW(queued->wait(), Cancelled);
  EXPECT_THROW(queued_.run(call_with(2)), Cancelled);
  EXPECT_EQ(log_.told, "rank 0 aborted its communicator");
}

TEST(Queued, cancels_what_is_running_and_queued_when_it_is_destroyed) {
  Recorder::Log log;
  std::unique_ptr<Work> running, queued;
  {
    Queued communicator(std::make_unique<Recorder>(log));
    running = communicator.start(call_with(Recorder::kGate));
    queued = communicator.start(call_with(1));
    log.entered.wait();
  }
  EXPECT_THROW(running->wait(), Cancelled);
  EXPECT_THROW(queued->wait(), Cancelled);
  EXPECT_TRUE(log.tags.empty());
}

}  // namespace
}  // namespace gradwire

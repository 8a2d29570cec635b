// The suite must pass a backend that is right and name what is wrong with one that isn't.
#include "comm/collectives_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "comm/kernels/kernels.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Ranks as threads that show each other their calls and compute their own results from what they see.
struct Board {
  explicit Board(int ranks) : calls(static_cast<std::size_t>(ranks)), meet(ranks) {}
  std::vector<std::vector<std::byte>> calls;  // what each rank put in
  std::barrier<> meet;

  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::pair<Rank, Rank>, std::deque<std::vector<std::byte>>> messages;  // by sender and receiver
};

class ThreadedCollectives : public Collectives {
 public:
  ThreadedCollectives(Board& board, Rank rank) : board_(board), rank_(rank) {}
  Rank rank() const override { return rank_; }
  int size() const override { return static_cast<int>(board_.calls.size()); }
  std::string name() const override { return "threads"; }
  Carrier carrier() const override { return Carrier::network; }
  Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
  void cancel() noexcept override {}
  void give_up(const std::exception&) noexcept override {}

  void exchange(std::span<const Message> messages, const Signature&, Seconds) override {
    std::unique_lock lock(board_.mutex);
    for (const Message& message : messages)
      if (message.out)
        board_.messages[{rank_, message.peer}].emplace_back(message.out->begin(), message.out->end());
    board_.arrived.notify_all();
    for (const Message& message : messages) {
      if (!message.in) continue;
      auto& queue = board_.messages[{message.peer, rank_}];
      board_.arrived.wait(lock, [&] { return !queue.empty(); });
      std::copy(queue.front().begin(), queue.front().end(), message.in->begin());
      queue.pop_front();
    }
  }

  void run(const Call& call, const Signature&) override {
    const auto given = call.kind == Collective::broadcast ? std::span<const std::byte>(call.out) : call.in;
    board_.calls[static_cast<std::size_t>(rank_)].assign(given.begin(), given.end());
    board_.meet.arrive_and_wait();
    finish(call);
    board_.meet.arrive_and_wait();
  }

 private:
  const std::byte* part(std::size_t rank, std::size_t index, std::size_t bytes) const {
    return board_.calls[rank].data() + index * bytes;
  }

  void finish(const Call& call) {
    const std::size_t ranks = board_.calls.size(), me = static_cast<std::size_t>(rank_);
    const bool split = call.kind == Collective::reduce_scatter || call.kind == Collective::all_to_all;
    const std::size_t bytes = call.kind == Collective::all_to_all ? call.in.size() / ranks : call.in.size();
    std::vector<const std::byte*> sources;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      sources.push_back(part(rank, split ? me : 0, split ? board_.calls[0].size() / ranks : 0));
    if (call.kind == Collective::barrier || call.out.empty()) return;
    if (call.kind == Collective::broadcast)
      std::memcpy(call.out.data(), sources[static_cast<std::size_t>(call.root)], call.out.size());
    else if (call.kind == Collective::all_gather || call.kind == Collective::all_to_all)
      for (std::size_t rank = 0; rank < ranks; ++rank)
        std::memcpy(call.out.data() + rank * bytes, sources[rank], bytes);
    else if (call.kind != Collective::reduce || call.root == rank_)
      reduce(call, sources);
  }

  void reduce(const Call& call, std::span<const std::byte* const> sources) const {
    std::byte* destination = call.out.data();
    combine(best_isa(), call.dtype, call.reduction, sources, {&destination, 1}, call.out.size());
  }

  Board& board_;
  Rank rank_;
};

// Does something to the result of a right backend.
class Spoiled final : public ThreadedCollectives {
 public:
  using Spoiler = std::function<void(const Call&)>;
  Spoiled(Board& board, Rank rank, Spoiler spoil)
      : ThreadedCollectives(board, rank), spoil_(std::move(spoil)) {}
  void run(const Call& call, const Signature& signature) override {
    ThreadedCollectives::run(call, signature);
    if (spoil_ && !call.out.empty()) spoil_(call);
  }
  void exchange(std::span<const Message> messages, const Signature& signature, Seconds timeout) override {
    ThreadedCollectives::exchange(messages, signature, timeout);
    for (const Message& message : messages)
      if (spoil_ && message.in && !message.in->empty())
        spoil_({.kind = signature.kind, .in = *message.in, .out = *message.in});
  }

 private:
  Spoiler spoil_;
};

std::vector<std::string> complaints(int ranks, const Spoiled::Spoiler& spoil,
                                    const ConformanceOptions& options = {}) {
  Board board(ranks);
  std::mutex mutex;
  std::vector<std::string> all;
  {
    std::vector<std::jthread> threads;
    for (Rank rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        Spoiled collectives(board, rank, rank == ranks - 1 ? spoil : nullptr);
        const auto wrong = check_collectives(collectives, options);
        const std::lock_guard lock(mutex);
        all.insert(all.end(), wrong.begin(), wrong.end());
      });
  }
  return all;
}

TEST(CollectivesConformance, has_nothing_against_a_backend_that_is_right) {
  for (const int ranks : {1, 2, 3, 5})
    EXPECT_THAT(complaints(ranks, nullptr, {.large_count = 1003}), IsEmpty()) << ranks << " ranks";
}

TEST(CollectivesConformance, names_the_element_that_is_wrong) {
  const auto spoil = [](const Call& call) {
    if (call.kind == Collective::reduce_scatter && call.dtype == DType::bf16 && call.out.size() == 34)
      call.out[7] ^= std::byte{1};
  };
  const auto all = complaints(3, spoil, {.large_count = 0});
  ASSERT_FALSE(all.empty());
  EXPECT_THAT(all[0], HasSubstr("rank 2 of 3: reduce_scatter of 17 bf16 a part, sum"));
  EXPECT_THAT(all[0], HasSubstr("element 3 of 17"));
}

TEST(CollectivesConformance, notices_writing_beside_the_output) {
  const auto spoil = [](const Call& call) {
    if (call.kind == Collective::all_gather) call.out.data()[call.out.size()] = std::byte{0};
  };
  const auto all = complaints(2, spoil, {.large_count = 0});
  ASSERT_FALSE(all.empty());
  EXPECT_THAT(all[0], HasSubstr("all_gather"));
  EXPECT_THAT(all[0], HasSubstr("wrote beside its buffers"));
}

TEST(CollectivesConformance, notices_a_changed_input) {
  const auto spoil = [](const Call& call) {
    if (call.kind == Collective::all_to_all) const_cast<std::byte&>(call.in[0]) ^= std::byte{1};
  };
  const auto all = complaints(2, spoil, {.large_count = 0});
  ASSERT_FALSE(all.empty());
  EXPECT_THAT(all[0], HasSubstr("changed its input"));
}

TEST(CollectivesConformance, notices_a_reduce_that_writes_on_a_rank_that_is_not_the_root) {
  const auto spoil = [](const Call& call) {
    if (call.kind == Collective::reduce && call.root == 0) call.out[0] ^= std::byte{1};
  };
  EXPECT_FALSE(complaints(2, spoil, {.kinds = {Collective::reduce}, .large_count = 0}).empty());
}

TEST(CollectivesConformance, names_the_kind_of_message_that_came_wrong) {
  const auto spoil_kind = [](Collective kind) {
    const auto all = complaints(3, [kind](const Call& call) { call.out[0] ^= std::byte{call.kind == kind}; },
                                {.large_count = 0});
    return all.empty() ? std::string() : all.back();
  };
  EXPECT_THAT(spoil_kind(Collective::recv), HasSubstr("rank 2 of 3: a message down the chain"));
  EXPECT_THAT(spoil_kind(Collective::exchange), HasSubstr("a message "));
  EXPECT_THAT(spoil_kind(Collective::gather), HasSubstr("a gather with parts of different sizes"));
}

TEST(CollectivesConformance, notices_sums_whose_bits_differ_from_rank_to_rank) {
  const auto spoil = [](const Call& call) {
    if (call.kind == Collective::all_reduce && call.out.size() == 4 * 1003) call.out[0] ^= std::byte{1};
  };
  const auto all = complaints(2, spoil, {.large_count = 0});
  ASSERT_FALSE(all.empty());
  EXPECT_THAT(all[0], HasSubstr("other bits than rank 0's"));
}

}  // namespace
}  // namespace gradwire

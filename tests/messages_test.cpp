// What ranks get whose messages to each other go wrong: for every backend that runs on one host, with ranks as processes. Each test
// asserts the fate of every rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/error.h"
#include "comm/make.h"
#include "comm/objects.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kShort = 64, kLong = 4 << 20;

// Ranks 0 and 1 of three share a host where the backend makes a difference of it.
std::unique_ptr<Communicator> connect(const World& world, const std::string& backend) {
  if (backend.find('+') != std::string::npos) ::setenv("GRADWIRE_HOST", world.rank < 2 ? "left" : "right", 1);
  return make_communicator(world, backend);
}

class Messages : public testing::TestWithParam<std::string> {
 protected:
  // Runs both ranks; what they do is given for rank 0 and for rank 1.
  using Does = std::function<void(Communicator&, std::span<std::byte>)>;
  std::vector<Outcome> run(std::size_t bytes, const Does& zero, const Does& one,
                           const RunOptions& options = {}) {
    const auto act = [&](const World& world) {
      const auto communicator = connect(world, GetParam());
      const Memory memory = communicator->allocate(bytes);
      communicator->run(barrier());
      (world.rank == 0 ? zero : one)(*communicator, memory.bytes());
    };
    return run_processes(2, act, options);
  }
};

TEST_P(Messages, a_killed_rank_is_named_to_the_one_that_waits_for_it) {
  const auto die = [](Communicator&, std::span<std::byte>) { ::raise(SIGKILL); };
  const Does waits[] = {[](Communicator& group, auto data) { group.run(recv(data, 1)); },
                        [](Communicator& group, auto data) {
                          for (int i = 0; i < 1000; ++i) group.run(send(data, 1));
                        }};
  for (const Does& wait : waits) {
    const auto outcomes = run(kLong, wait, die);
    EXPECT_EQ(outcomes[0].error, "PeerLost") << describe(outcomes[0]);
    EXPECT_EQ(outcomes[0].peer, 1) << describe(outcomes[0]);
  }
}

TEST_P(Messages, a_stopped_rank_is_named_when_the_time_of_the_call_is_up) {
  const auto wait = [](Communicator& group, std::span<std::byte> data) {
    Call call = recv(data, 1);
    call.timeout = 2;
    group.run(call);
  };
  const auto stop = [](Communicator&, std::span<std::byte>) { ::raise(SIGSTOP); };
  const auto outcomes = run(kShort, wait, stop, {.deadline = 100, .timeout = 90});
  EXPECT_EQ(outcomes[0].error, "Timeout") << describe(outcomes[0]);
  EXPECT_THAT(outcomes[0].text, HasSubstr("rank 1"));
}

TEST_P(Messages, ranks_that_disagree_on_the_size_learn_both_sizes) {
  for (const std::size_t bytes : {kShort, kLong}) {
    const auto longer = [](Communicator& group, std::span<std::byte> data) {
      group.run(send(data, 1));
      group.run(recv(data, 1));
    };
    const auto shorter = [](Communicator& group, std::span<std::byte> data) {
      group.run(recv(data.first(8), 0));
    };
    for (const Outcome& outcome : run(bytes, longer, shorter)) {
      EXPECT_EQ(outcome.error, "Mismatch") << describe(outcome);
      EXPECT_THAT(outcome.text, AllOf(HasSubstr("a message of 8 bytes"),
                                      HasSubstr("a message of " + std::to_string(bytes))));
    }
  }
}

TEST_P(Messages, ranks_that_disagree_on_the_tag_learn_both_tags) {
  const auto swap = [](std::uint32_t tag) -> Does {
    return [tag](Communicator& group, std::span<std::byte> data) {
      const Rank other = 1 - group.rank();
      group.run(exchange({{.peer = other, .out = data.first(8), .in = data.last(8), .tag = tag}}));
      group.run(barrier());  // for one that had no more to hear
    };
  };
  for (const Outcome& outcome : run(kShort, swap(3), swap(4))) {
    EXPECT_EQ(outcome.error, "Mismatch") << describe(outcome);
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("tag 3"), HasSubstr("tag 4")));
  }
}

TEST_P(Messages, do_not_need_the_other_ranks) {
  const auto act = [&](const World& world) {
    const auto communicator = connect(world, GetParam());
    std::vector<int> numbers(100'000, world.rank);
    for (int i = 0; i < 10; ++i) {
      if (world.rank == 0) communicator->run(send(bytes_of(numbers), 1));
      if (world.rank == 1) communicator->run(recv(bytes_of(numbers), 0));
    }
    EXPECT_EQ(numbers.back(), world.rank == 2 ? 2 : 0);
    communicator->run(all_reduce(bytes_of(numbers), DType::i32));
    EXPECT_EQ(numbers.back(), 2);
  };
  expect_all_ok(run_processes(3, act));
}

// Rank 1 hears from 0 only after 2 has, and 2 only after 0 has given it what goes with it.
TEST_P(Messages, of_one_batch_do_not_wait_for_each_other) {
  const auto act = [&](const World& world) {
    const auto communicator = connect(world, GetParam());
    std::vector<std::byte> one(kLong), two(kLong);
    if (world.rank == 0) communicator->run(exchange({{.peer = 1, .out = one}, {.peer = 2, .out = two}}));
    if (world.rank == 2) communicator->run(recv(two, 0));
    if (world.rank == 2) communicator->run(send(two, 1));
    if (world.rank == 1) communicator->run(recv(two, 2));
    if (world.rank == 1) communicator->run(recv(one, 0));
    communicator->run(barrier());
  };
  expect_all_ok(run_processes(3, act));
}

TEST_P(Messages, of_a_rank_that_aborts_are_told_to_the_one_that_waits_for_them) {
  const auto abort = [](Communicator& group, std::span<std::byte> data) {
    group.abort();
    EXPECT_THROW(group.run(send(data, 1)), Cancelled);
    EXPECT_THROW(group.run(barrier()), Cancelled);
    ::raise(SIGSTOP);  // it is not its end that tells the other
  };
  const auto outcomes = run(
      kShort, [](Communicator& group, std::span<std::byte> data) { group.run(recv(data, 1)); },
      [&](Communicator& group, std::span<std::byte> data) { abort(group, data); });
  EXPECT_EQ(outcomes[0].error, "PeerLost") << describe(outcomes[0]);
  EXPECT_EQ(outcomes[0].peer, 1) << describe(outcomes[0]);
  EXPECT_EQ(outcomes[1].kind, Outcome::Kind::stopped) << describe(outcomes[1]);
}

TEST_P(Messages, that_are_waited_for_end_when_another_thread_aborts) {
  const auto abort = [](Communicator& group, std::span<std::byte> data) {
    group.run(recv(data, 1));  // the other is in no call before any more
    const auto work = group.start(recv(data, 1));
    group.abort();
    EXPECT_THROW(work->wait(), Cancelled);
  };
  const auto wait = [](Communicator& group, std::span<std::byte> data) {
    EXPECT_THROW((group.run(send(data, 0)), group.run(recv(data, 0))), PeerLost);
  };
  expect_all_ok(run(kShort, abort, wait));
}

INSTANTIATE_TEST_SUITE_P(OfEveryBackend, Messages, testing::Values("shm", "tcp", "shm+tcp", "gloo"),
                         [](const auto& backend) {
                           std::string name = backend.param;
                           std::erase(name, '+');
                           return name;
                         });

TEST_P(Messages, carry_objects_of_different_lengths) {
  const auto act = [&](const World& world) {
    const auto communicator = connect(world, GetParam());
    const auto word = [](Rank rank) {
      return std::string(static_cast<std::size_t>(rank) * 50'000, static_cast<char>('a' + rank));
    };
    const std::vector<std::string> words = {word(0), word(1), word(2)};
    EXPECT_EQ(all_gather_objects(*communicator, words[world.rank]), words);
    EXPECT_EQ(gather_objects(*communicator, words[world.rank], 1),
              world.rank == 1 ? words : std::vector<std::string>());
    EXPECT_EQ(broadcast_object(*communicator, world.rank == 2 ? words[2] : "", 2), words[2]);
    EXPECT_EQ(scatter_objects(*communicator, world.rank == 0 ? words : std::vector<std::string>(), 0),
              words[world.rank]);
    communicator->run(barrier());
  };
  expect_all_ok(run_processes(3, act));
}

// Ours alone: a rank in a call of all is waited for by one that waits for its message, and both would wait for ever.
class Own : public Messages {};

TEST_P(Own, a_message_that_meets_a_call_of_all_ranks_is_a_disagreement) {
  const auto outcomes = run(
      kShort, [](Communicator& group, std::span<std::byte> data) { group.run(recv(data, 1)); },
      [](Communicator& group, std::span<std::byte> data) { group.run(all_reduce(data, DType::f32)); });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "Mismatch") << describe(outcome);
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("a message"), HasSubstr("all_reduce of 64 bytes")));
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryBackend, Own, testing::Values("shm", "tcp"),
                         [](const auto& backend) { return backend.param; });

}  // namespace
}  // namespace gradwire

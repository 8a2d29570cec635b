// What the ranks of a job get when one of them dies, stops or does something else: for every backend that is
// ours, with ranks as processes. Each test asserts the fate of every rank; the last ones do it 200 times and
// look for left-overs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "comm/make.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

// A call of `bytes` in memory the communicator gave out, or in ordinary memory.
struct Buffer {
  Memory memory;
  Buffer(Communicator& communicator, std::size_t bytes, bool shared = true)
      : memory(shared ? communicator.allocate(bytes) : allocate_private(bytes)) {}
  Call sum() const { return all_reduce(memory.bytes(), DType::f32); }
};

constexpr std::size_t kSmall = 64, kLarge = 8 << 20;

// Rank `victim` begins one more call than it ends: it starts it in the background and is gone.
RankFunction die_in_the_middle(std::string backend, Rank victim, std::size_t bytes, int signal,
                               bool shared = true) {
  return [=](const World& world) {
    const auto communicator = make_communicator(world, backend);
    const Buffer buffer(*communicator, bytes, shared);
    for (int i = 0; i < 3; ++i) communicator->run(buffer.sum());
    if (world.rank == victim) {
      const auto work = communicator->start(buffer.sum());
      ::raise(signal);
    }
    for (int i = 0; i < 100; ++i) communicator->run(buffer.sum());
  };
}

void expect_everybody_lost(const std::vector<Outcome>& outcomes, Rank victim) {
  for (const Outcome& outcome : outcomes) {
    if (outcome.rank == victim) {
      EXPECT_EQ(outcome.kind, Outcome::Kind::killed) << describe(outcome);
      continue;
    }
    EXPECT_EQ(outcome.error, "PeerLost") << describe(outcome);
    EXPECT_EQ(outcome.peer, victim) << describe(outcome);
    EXPECT_THAT(outcome.text, HasSubstr("rank " + std::to_string(victim)));
  }
}

class Faults : public testing::TestWithParam<std::string> {};

TEST_P(Faults, a_killed_rank_is_named_to_every_other_one) {
  for (const std::size_t bytes : {kSmall, kLarge})
    for (const bool shared : {true, false})
      expect_everybody_lost(run_processes(3, die_in_the_middle(GetParam(), 1, bytes, SIGKILL, shared)), 1);
}

TEST_P(Faults, the_last_and_the_first_rank_are_named_too) {
  expect_everybody_lost(run_processes(4, die_in_the_middle(GetParam(), 3, kLarge, SIGKILL)), 3);
  expect_everybody_lost(run_processes(2, die_in_the_middle(GetParam(), 0, kLarge, SIGKILL)), 0);
}

// The time is long enough for ranks that share their cores with others to get where one of them stops.
TEST_P(Faults, a_stopped_rank_is_named_when_time_is_up) {
  const auto outcomes = run_processes(3, die_in_the_middle(GetParam(), 2, kLarge, SIGSTOP), {.timeout = 5});
  EXPECT_EQ(outcomes[2].kind, Outcome::Kind::stopped) << describe(outcomes[2]);
  const bool timed_out = std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
    return outcome.error == "Timeout" && outcome.text.find("rank 2") != std::string::npos;
  });
  EXPECT_TRUE(timed_out) << describe(outcomes[0]) << "; " << describe(outcomes[1]);
  for (const Rank rank : {0, 1}) EXPECT_EQ(outcomes[rank].error, "Timeout") << describe(outcomes[rank]);
}

// Rank 1 does something else than the others; all must learn what.
void expect_mismatch(const std::string& backend, const std::function<Call(Rank, std::span<std::byte>)>& call,
                     const std::vector<std::string>& both_sides) {
  for (const int ranks : {2, 4}) {
    const auto outcomes = run_processes(ranks, [&](const World& world) {
      const auto communicator = make_communicator(world, backend);
      const Buffer buffer(*communicator, 1 << 20);
      communicator->run(buffer.sum());
      communicator->run(call(world.rank, buffer.memory.bytes()));
    });
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.error, "Mismatch") << describe(outcome);
      for (const auto& side : both_sides) EXPECT_THAT(outcome.text, HasSubstr(side));
    }
  }
}

TEST_P(Faults, ranks_that_disagree_on_the_size_learn_both_sizes) {
  const auto call = [](Rank rank, std::span<std::byte> data) {
    return all_reduce(data.first(rank == 1 ? 4096 : 1 << 20), DType::f32);
  };
  expect_mismatch(GetParam(), call, {"of 4096 bytes", "of 1048576 bytes"});
}

TEST_P(Faults, ranks_that_disagree_on_the_type_learn_both_types) {
  const auto call = [](Rank rank, std::span<std::byte> data) {
    return all_reduce(data, rank == 1 ? DType::i32 : DType::f32);
  };
  expect_mismatch(GetParam(), call, {"f32", "i32"});
}

TEST_P(Faults, ranks_that_disagree_on_the_operation_learn_both_operations) {
  const auto call = [](Rank rank, std::span<std::byte> data) {
    return rank == 1 ? broadcast(data, DType::f32, 0) : all_reduce(data, DType::f32, Reduction::max);
  };
  expect_mismatch(GetParam(), call, {"all_reduce", "max", "broadcast", "root 0"});
}

TEST_P(Faults, ranks_that_disagree_on_the_order_learn_it_by_the_tags) {
  const auto call = [](Rank rank, std::span<std::byte> data) {
    Call one = all_reduce(data, DType::f32);
    one.tag = rank == 1 ? 8 : 7;
    return one;
  };
  expect_mismatch(GetParam(), call, {"tag 7", "tag 8"});
}

TEST_P(Faults, a_rank_that_leaves_early_is_named) {
  const auto outcomes = run_processes(3, [&](const World& world) {
    const auto communicator = make_communicator(world, GetParam());
    const Buffer buffer(*communicator, kLarge);
    communicator->run(buffer.sum());
    if (world.rank != 1) communicator->run(buffer.sum());
  });
  EXPECT_TRUE(outcomes[1].ok()) << describe(outcomes[1]);
  for (const Rank rank : {0, 2}) {
    EXPECT_EQ(outcomes[rank].error, "PeerLost") << describe(outcomes[rank]);
    EXPECT_EQ(outcomes[rank].peer, 1) << describe(outcomes[rank]);
  }
}

// It may have no more files open than it has, and so can't map what the others allocated.
TEST(ShmFaults, a_reason_that_one_rank_alone_has_is_told_to_every_other_one) {
  const auto outcomes = run_processes(3, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    const Buffer buffer(*communicator, kLarge);
    communicator->run(barrier());
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    if (world.rank == 1) ::setrlimit(RLIMIT_NOFILE, &none);
    communicator->run(buffer.sum());
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "TransportError") << describe(outcome);
    EXPECT_THAT(outcome.text, HasSubstr("cannot be opened: Too many open files"));
    if (outcome.rank != 1) {
      EXPECT_THAT(outcome.text, HasSubstr("rank 1 reports: "));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryBackend, Faults, testing::Values("shm", "tcp"),
                         [](const auto& backend) { return backend.param; });

// What a fault could leave behind on this machine. Of shared files those that are ours: other programs come and go.
struct LeftOvers {
  static long count(const std::filesystem::path& directory, std::string_view name = "") {
    std::error_code none;
    const auto entries = std::filesystem::directory_iterator(directory, none);
    return std::count_if(begin(entries), end(entries), [&](const auto& entry) {
      return entry.path().filename().string().find(name) != std::string::npos;
    });
  }
  long descriptors = count("/proc/self/fd"), shared_files = count("/dev/shm", "gradwire"),
       children = count("/proc/self/task");
  bool operator==(const LeftOvers&) const = default;
};

std::ostream& operator<<(std::ostream& out, const LeftOvers& left) {
  return out << left.descriptors << " descriptors, " << left.shared_files << " shared files, "
             << left.children << " threads";
}

class ManyFaults : public testing::TestWithParam<std::string> {};

TEST_P(ManyFaults, leave_nothing_behind_200_times_in_a_row) {
  const LeftOvers before;
  for (int i = 0; i < 200; ++i) {
    expect_everybody_lost(
        run_processes(2, die_in_the_middle(GetParam(), i % 2, i % 3 ? kLarge : kSmall, SIGKILL)), i % 2);
    if (HasFailure()) return;
  }
  EXPECT_EQ(LeftOvers(), before);
}

INSTANTIATE_TEST_SUITE_P(OfEveryBackend, ManyFaults, testing::Values("shm", "tcp"),
                         [](const auto& backend) { return backend.param; });

}  // namespace
}  // namespace gradwire

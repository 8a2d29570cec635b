#include "launch/spawn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"
#include "net/address/socket.h"
#include "net/rendezvous/rendezvous.h"
#include "support/has_ended.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A barrier, so that a rank fails only when all are there.
void wait_for_all(const World& world) {
  world.store->set("there/" + std::to_string(world.rank), "yes");
  for (Rank rank = 0; rank < world.size; ++rank)
    get_from(*world.store, rank, "there/" + std::to_string(rank), Deadline::after(world.timeout));
}

TEST(Spawn, runs_the_function_as_every_rank) {
  const TempDir directory;
  spawn(4, [&](const World& world) {
    wait_for_all(world);
    write_file(directory.path() / std::to_string(world.rank),
               fmt::format("{} {} {} {}", world.size, world.local_rank, world.local_size, world.timeout));
  });
  for (Rank rank = 0; rank < 4; ++rank)
    EXPECT_EQ(read_file(directory.path() / std::to_string(rank)), fmt::format("4 {} 4 300", rank));
}

TEST(Spawn, names_the_rank_that_threw_and_what) {
  EXPECT_THAT(
      [] {
        spawn(3, [](const World& world) {
          wait_for_all(world);
          if (world.rank == 1) throw ConfigError("no such model");
          world.store->get("never", Deadline::after(world.timeout));
        });
      },
      ThrowsMessage<Error>(
          AllOf(HasSubstr("of 3 ranks"), HasSubstr("rank 1 threw ConfigError: no such model"))));
}

TEST(Spawn, names_the_rank_that_was_killed) {
  EXPECT_THAT(
      [] {
        spawn(2, [](const World& world) {
          wait_for_all(world);
          if (world.rank == 1) ::raise(SIGKILL);
          world.store->get("never", Deadline::after(world.timeout));
        });
      },
      ThrowsMessage<Error>(HasSubstr("rank 1 was killed by SIGKILL")));
}

TEST(Spawn, blames_the_rank_that_failed_and_not_those_that_lost_it) {
  EXPECT_THAT(
      [] {
        spawn(3, [](const World& world) {
          wait_for_all(world);
          if (world.rank == 2) ::_exit(7);
          get_from(*world.store, 2, "never", Deadline::after(world.timeout));
        });
      },
      ThrowsMessage<Error>(HasSubstr("rank 2 exited with code 7")));
}

TEST(Spawn, does_not_take_an_early_exit_for_success) {
  EXPECT_THAT([] { spawn(1, [](const World&) { ::_exit(0); }); },
              ThrowsMessage<Error>(HasSubstr("rank 0 exited with code 0")));
}

TEST(Spawn, kills_a_rank_that_does_not_listen) {
  EXPECT_THAT(
      [] {
        spawn(2,
              [](const World& world) {
                ::signal(SIGTERM, SIG_IGN);
                wait_for_all(world);
                if (world.rank == 0) throw Error("enough");
                world.store->get("never", Deadline::after(world.timeout));
              },
              {.grace = 0.05});
      },
      ThrowsMessage<Error>(HasSubstr("rank 0 threw Error: enough")));
}

TEST(Spawn, does_not_wait_for_a_rank_that_is_stopped_after_its_work) {
  spawn(2,
        [](const World& world) {
          if (world.rank == 0) return;
          leave(world);
          ::raise(SIGSTOP);
        },
        {.timeout = 1});
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(Spawn, takes_the_children_of_a_rank_with_it) {
  const TempDir directory;
  const auto file = directory.path() / "pid";
  spawn(1, [&](const World&) {
    const pid_t child = ::fork();
    if (child == 0)
      for (;;) ::pause();
    write_file(file, std::to_string(child));
  });
  const pid_t child = std::stoi(read_file(file));
  // It has been killed, but who adopted it may not have reaped it yet.
  EXPECT_TRUE(has_ended(child)) << "process " << child << " is still there";
}

TEST(Spawn, refuses_no_ranks) {
  EXPECT_THROW(spawn(0, [](const World&) {}), ConfigError);
}

TEST(Spawn, leaves_nothing_behind_two_hundred_times) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  spawn(1, [](const World&) {});
  const auto before = descriptors();
  for (int i = 0; i < 200; ++i) {
    const auto fail_sometimes = [&](const World& world) {
      if (i % 10 == 9 && world.rank == 1) ::raise(SIGKILL);
    };
    if (i % 10 == 9)
      EXPECT_THROW(spawn(2, fail_sometimes), Error);
    else
      spawn(2, fail_sometimes);
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace gradwire
